//! `steer_run`.

use comity_domain::{Phase, RunId};
use comity_kernel::Error;
use comity_kernel::run::Words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::run;
use super::untrusted::Marks;

/// Skips a phase of a run, rolls it back, pauses, resumes, cancels or fails it.
///
/// Rolling back withdraws what the undone phases left behind and the judgements on them, and cancels
/// open dispatches. Cancelling ends everything below the run, too.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SteerRun {
    /// The run's number.
    run: RunId,
    /// What to do.
    action: Action,
    /// The phase to skip, or to go back to; for `skip` and `roll_back`.
    #[serde(default)]
    phase: Option<Phase>,
    /// Why; `skip` and `roll_back` need it.
    #[serde(default)]
    reason: Option<Words>,
    /// The phase you think it is in, for `roll_back`; another one now is refused.
    #[serde(default)]
    expected_phase: Option<Phase>,
}

/// What is done to a run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Jump a phase that lies ahead.
    Skip,
    /// Go back to an earlier phase.
    RollBack,
    /// Rest.
    Pause,
    /// Go on.
    Resume,
    /// Give it up.
    Cancel,
    /// It came to nothing.
    Fail,
}

impl Own for SteerRun {
    const NAME: &'static str = "steer_run";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        let (run, reason) = (self.run, &self.reason);
        let operation = match self.action {
            Action::Skip => {
                self.refuse(&["expected_phase"])?;
                let (phase, reason) = self.phase_and_reason()?;
                return Ok((
                    "skip_phase",
                    json!({ "run": run, "phase": phase, "reason": reason }),
                ));
            }
            Action::RollBack => {
                let (phase, reason) = self.phase_and_reason()?;
                let expected = &self.expected_phase;
                let request = json!({
                    "run": run, "to_phase": phase, "reason": reason, "expected_phase": expected,
                });
                return Ok(("roll_back_run", request));
            }
            Action::Pause => "pause_run",
            Action::Resume => "resume_run",
            Action::Cancel => "cancel_run",
            Action::Fail => "fail_run",
        };
        self.refuse(&["phase", "expected_phase"])?;
        Ok((operation, json!({ "run": run, "reason": reason })))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        run::changed(&answer, marks)
    }
}

impl SteerRun {
    fn phase_and_reason(&self) -> Result<(&Phase, &Words), Error> {
        let missing = |field| Error::invalid(field, "is missing");
        let phase = self.phase.as_ref().ok_or_else(|| missing("phase"))?;
        let reason = self.reason.as_ref().ok_or_else(|| missing("reason"))?;
        Ok((phase, reason))
    }

    /// Refuses fields that say nothing about this action.
    fn refuse(&self, fields: &[&str]) -> Result<(), Error> {
        let given = [
            ("phase", self.phase.is_some()),
            ("expected_phase", self.expected_phase.is_some()),
        ];
        let mut idle = given
            .iter()
            .filter(|(name, given)| *given && fields.contains(name));
        match idle.next() {
            Some((name, _)) => Err(Error::invalid(*name, "does not go with this `action`")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(arguments: Value) -> Result<(&'static str, Value), Error> {
        serde_json::from_value::<SteerRun>(arguments)
            .unwrap()
            .plan()
    }

    #[test]
    fn an_action_is_an_operation_with_what_it_needs() {
        let back = json!({ "run": 7, "action": "roll_back", "phase": "a", "reason": "r" });
        let (name, request) = planned(back).unwrap();
        assert_eq!((name, &request["to_phase"]), ("roll_back_run", &json!("a")));
        let skip = json!({ "run": 7, "action": "skip", "phase": "a", "reason": "r" });
        let request = json!({ "run": 7, "phase": "a", "reason": "r" });
        assert_eq!(planned(skip).unwrap(), ("skip_phase", request));
        for (action, operation) in [
            ("pause", "pause_run"),
            ("resume", "resume_run"),
            ("cancel", "cancel_run"),
            ("fail", "fail_run"),
        ] {
            let planned = planned(json!({ "run": 7, "action": action })).unwrap();
            assert_eq!(planned.0, operation);
        }
        for (wrong, field) in [
            (
                json!({ "run": 7, "action": "skip", "reason": "r" }),
                "phase",
            ),
            (
                json!({ "run": 7, "action": "roll_back", "phase": "a" }),
                "reason",
            ),
            (
                json!({ "run": 7, "action": "pause", "phase": "a" }),
                "phase",
            ),
        ] {
            assert_eq!(planned(wrong).unwrap_err().to_json()["field"], field);
        }
    }
}
