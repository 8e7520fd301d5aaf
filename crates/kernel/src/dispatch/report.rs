//! Says how far claimed work is.

use comity_domain::limits::{PROGRESS_BYTES_MAX, TOKENS_MAX};
use comity_domain::{DispatchId, Line, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claimant::{Knows, begin, in_hand};
use super::event::DispatchReported;
use super::table::{self, Dispatch, Stored};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::run::table as run_table;
use crate::tx::{Read, WriteTx};

/// Says how far what you claimed is, and how many tokens it has used.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
    /// How many tokens it has used in total, earlier claims included; never fewer than before.
    #[serde(default)]
    #[schemars(range(min = 0, max = TOKENS_MAX))]
    pub tokens: Option<i64>,
    /// How far it is.
    #[serde(default)]
    pub progress: Option<Line<PROGRESS_BYTES_MAX>>,
    /// The claim's fence; its claimant must give it.
    #[serde(default)]
    pub fence: Option<Seq>,
    /// The revision you know; the operator must give it for another's claim.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The dispatch as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for ReportDispatch {
    const NAME: &'static str = "report_dispatch";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = ReportedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ReportedDispatch, Stop> {
        let knows = Knows {
            fence: self.fence,
            expected_revision: self.expected_revision,
        };
        let dispatch = in_hand(tx, self.id, knows)?;
        if self.tokens.is_none() && self.progress.is_none() {
            return Err(Error::invalid("progress", "must be given, or `tokens`").into());
        }
        let used = dispatch.shown.tokens;
        let tokens = self.tokens.unwrap_or(used);
        if !(used..=TOKENS_MAX).contains(&tokens) {
            let rule = format!("must be between {used}, the number known, and {TOKENS_MAX}");
            return Err(Error::invalid("tokens", rule).into());
        }
        must_fit(tx, &dispatch, tokens - used)?;
        let dispatch = begin(tx, dispatch)?;
        let before = &dispatch.shown.progress;
        let progress = self.progress.as_deref().unwrap_or(before);
        if tokens != used || progress != before {
            tx.emit(DispatchReported {
                which: dispatch.which(),
                tokens,
                tokens_added: tokens - used,
                progress: progress.to_owned(),
            })?;
        }
        let dispatch = table::changed(tx, self.id)?;
        Ok(ReportedDispatch { dispatch })
    }
}

/// Refuses more tokens than a run can count: with all that is below it they must fit a number.
fn must_fit(read: &mut impl Read, dispatch: &Stored, more: i64) -> Result<(), Error> {
    let Some(run) = dispatch.shown.run else {
        return Ok(());
    };
    let run = run_table::by_id(read, run)?;
    if run.is_none_or(|run| run.tokens <= TOKENS_MAX - more) {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: "the number of tokens of one run",
        limit: TOKENS_MAX.unsigned_abs(),
    })
}
