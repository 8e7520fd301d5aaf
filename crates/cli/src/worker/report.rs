//! What a worker reports of a command that has ended.

use std::path::Path;

use comity_domain::{Outcome, Verdict};
use serde_json::Value;

use super::keeper::{Cause, End};
use super::result_file::{self, Told};

/// What is reported.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) outcome: Outcome,
    pub(super) verdict: Option<Verdict>,
    pub(super) summary: String,
    pub(super) result: Option<Value>,
    pub(super) tokens: Option<u64>,
}

impl Report {
    /// Says that it was in vain, and why.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Failed,
            verdict: None,
            summary: why.into(),
            result: None,
            tokens: None,
        }
    }

    /// Judges a command by how it ended and what it says in its file.
    pub(super) fn of(end: End, file: &Path) -> Self {
        let told = result_file::read(file);
        let why = match end.cause {
            Cause::Itself => how(end),
            Cause::Deadline => Some("its deadline came, and it was ended".to_owned()),
            Cause::Told => Some("the worker was stopped".to_owned()),
            Cause::Lost => Some("its claim was over, and it was ended".to_owned()),
        };
        match (told, why) {
            (Ok(told), None) => Self::completed(told),
            (Err(wrong), None) => Self::failed(wrong),
            (Err(wrong), Some(why)) => Self::failed(format!("{why}; {wrong}")),
            (Ok(told), Some(why)) => {
                let summary = match &told.summary {
                    Some(said) => format!("{why}: {said}"),
                    None => why,
                };
                Self {
                    outcome: Outcome::Failed,
                    summary,
                    ..Self::completed(told)
                }
            }
        }
    }

    /// Says that something of the command runs on, which is a failure however it ended.
    pub(super) fn stuck(mut self, pids: &[i32]) -> Self {
        let pids: Vec<_> = pids.iter().map(ToString::to_string).collect();
        let pids = pids.join(", ");
        self.note(&format!("what it left cannot be ended: {pids}"));
        self.outcome = Outcome::Failed;
        self
    }

    /// Adds something to what is said.
    pub(super) fn note(&mut self, note: &str) {
        self.summary = match self.summary.as_str() {
            "" => note.to_owned(),
            said => format!("{said} ({note})"),
        };
    }

    fn completed(told: Told) -> Self {
        Self {
            outcome: Outcome::Completed,
            verdict: told.verdict,
            summary: told.summary.unwrap_or_default(),
            result: told.result,
            tokens: told.tokens,
        }
    }
}

/// Says how a command ended, unless it ended well.
fn how(end: End) -> Option<String> {
    match (end.code, end.signal) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("ended by signal {signal}")),
        (None, None) => Some("it ended, and nobody knows how".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(cause: Cause, code: Option<i32>, signal: Option<i32>) -> End {
        End {
            cause,
            code,
            signal,
        }
    }

    #[test]
    fn only_a_command_that_ended_well_by_itself_has_done_its_work() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("r");
        let of = |end| {
            let report = Report::of(end, &file);
            (report.outcome, report.summary)
        };
        let failed = |why: &str| (Outcome::Failed, why.to_owned());
        let well = end(Cause::Itself, Some(0), None);
        assert_eq!(of(well), (Outcome::Completed, String::new()));
        std::fs::write(&file, r#"{"summary":"s","verdict":"pass","tokens":3}"#).unwrap();
        assert_eq!(of(well), (Outcome::Completed, "s".to_owned()));
        assert_eq!(
            of(end(Cause::Itself, Some(3), None)),
            failed("exit code 3: s")
        );
        assert_eq!(
            of(end(Cause::Itself, None, Some(9))),
            failed("ended by signal 9: s")
        );
        assert_eq!(
            of(end(Cause::Told, Some(0), None)),
            failed("the worker was stopped: s")
        );
        let late = Report::of(end(Cause::Deadline, None, Some(15)), &file);
        assert_eq!((late.tokens, late.verdict), (Some(3), Some(Verdict::Pass)));
        let stuck = Report::of(well, &file).stuck(&[7, 8]);
        assert_eq!(
            (stuck.outcome, stuck.summary),
            failed("s (what it left cannot be ended: 7, 8)")
        );
        std::fs::write(&file, "{").unwrap();
        assert!(of(well).1.starts_with("its result file is malformed"));
        assert!(of(end(Cause::Itself, Some(3), None)).1.contains("; its"));
    }
}
