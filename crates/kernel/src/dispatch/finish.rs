//! Settles claimed work.

use comity_domain::limits::RESULT_BYTES_MAX;
use comity_domain::{DispatchId, DispatchState, Outcome, Seq, Sha256Hex, Step, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::claimant::{Knows, Standing, begin, expired, must_know, standing};
use super::due::lapse;
use super::event::DispatchFinished;
use super::table::{self, Dispatch, Stored};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::reservation::held::holder;
use crate::run::Words;
use crate::run::table as run_table;
use crate::run::verdict::{self, Said};
use crate::tx::WriteTx;

/// Settles what you claimed, once and for ever: it is done, or was tried in vain.
///
/// The same report again changes nothing; another one is refused with `already_settled`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
    /// `completed` or `failed`.
    pub outcome: Outcome,
    /// What you think of the work; it counts for the run's phase if the run is still in it.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// What you have to say.
    #[serde(default)]
    pub summary: Option<Words>,
    /// What came of it: any JSON, at most 256 KiB.
    #[serde(default)]
    pub result: Option<Value>,
    /// The claim's fence; its claimant must give it.
    #[serde(default)]
    pub fence: Option<Seq>,
    /// The revision you know; the operator must give it for another's claim.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The dispatch as it is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FinishedDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for FinishDispatch {
    const NAME: &'static str = "finish_dispatch";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = FinishedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<FinishedDispatch, Stop> {
        let report = self.sha256()?;
        let actor = tx.actor().clone();
        let dispatch = table::visible(tx, &actor, self.id)?;
        let standing = standing(tx, &actor, &dispatch, self.fence)?;
        if dispatch.shown.state.is_final() {
            return Ok(self.replay(dispatch, standing, &report)?);
        }
        if lapse(tx, &dispatch)? {
            return Err(Stop::Refused(settled(&dispatch, DispatchState::TimedOut)));
        }
        let knows = Knows {
            fence: self.fence,
            expected_revision: self.expected_revision,
        };
        must_know(tx, &dispatch, standing, knows)?;
        tx.hit("dispatch.after_check")?;
        self.settle(tx, dispatch, report)?;
        tx.hit("dispatch.after_update")?;
        let dispatch = table::changed(tx, self.id)?;
        Ok(FinishedDispatch { dispatch })
    }
}

impl FinishDispatch {
    fn settle(
        &self,
        tx: &mut WriteTx<'_, '_>,
        dispatch: Stored,
        result_sha256: Sha256Hex,
    ) -> Result<(), Error> {
        let dispatch = begin(tx, dispatch)?;
        dispatch.after(Step::Finish(self.outcome))?;
        tx.emit(DispatchFinished {
            which: dispatch.which(),
            outcome: self.outcome,
            verdict: self.verdict,
            summary: self.summary().to_owned(),
            result: self.result.clone(),
            result_sha256,
        })?;
        self.judge(tx, &dispatch)
    }

    /// Records the verdict on the run, unless it has moved on: work of a phase that is over says
    /// nothing about the present one.
    fn judge(&self, tx: &mut WriteTx<'_, '_>, dispatch: &Stored) -> Result<(), Error> {
        let (Some(word), Some(run)) = (self.verdict, dispatch.shown.run) else {
            return Ok(());
        };
        // A run that rests is still in its phase, and its gate counts what is said meanwhile.
        let run = run_table::by_id(tx, run)?
            .filter(|run| run.state.is_live() && dispatch.shown.phase.as_ref() == Some(&run.phase));
        let Some(run) = run else {
            return Ok(());
        };
        let said = Said {
            phase: run.phase.clone(),
            verdict: word,
            summary: self.summary().to_owned(),
            agent: holder(tx.actor()),
            dispatch: Some(dispatch.shown.id),
        };
        match verdict::record(tx, &run, said) {
            // The work is settled all the same: otherwise it would be done again for ever.
            Err(Error::LimitExceeded { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Answers for what is settled: the same report is a replay, another one comes too late (H4).
    fn replay(
        &self,
        dispatch: Stored,
        standing: Standing,
        report: &Sha256Hex,
    ) -> Result<FinishedDispatch, Error> {
        if standing == Standing::Claimant {
            match self.fence {
                None => return Err(Error::invalid("fence", "is missing; the claim has it")),
                fence if fence != dispatch.shown.fence => return Err(expired(&dispatch)),
                Some(_) => {}
            }
        }
        if dispatch.kept.report_sha256.as_ref() == Some(report.bytes()) {
            let dispatch = dispatch.shown;
            return Ok(FinishedDispatch { dispatch });
        }
        Err(settled(&dispatch, dispatch.shown.state))
    }

    fn summary(&self) -> &str {
        self.summary.as_deref().unwrap_or_default()
    }

    /// Hashes the whole report.
    fn sha256(&self) -> Result<Sha256Hex, Error> {
        if let Some(result) = &self.result
            && serde_json::to_vec(result)?.len() > RESULT_BYTES_MAX
        {
            let rule = format!("must be at most {RESULT_BYTES_MAX} bytes as JSON");
            return Err(Error::invalid("result", rule));
        }
        let report = (self.outcome, self.verdict, self.summary(), &self.result);
        let bytes = serde_json::to_vec(&report)?;
        Ok(Sha256Hex::new(Sha256::digest(bytes).into()))
    }
}

fn settled(dispatch: &Stored, state: DispatchState) -> Error {
    Error::AlreadySettled {
        dispatch: dispatch.shown.id,
        state: state.as_str(),
    }
}
