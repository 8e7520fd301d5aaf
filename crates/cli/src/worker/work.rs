//! One dispatch, from its claim to its report.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use comity_domain::{Outcome, Seq};
use comity_kernel::dispatch::{Dispatch, FinishDispatch, GetDispatch, ReportDispatch};
use serde_json::{Value, json};

use super::desk::{Pace, random_word};
use super::folder::Files;
use super::hold::{Hold, Lost};
use super::keeper::{Cause, Order, Word};
use super::keepers::{Kept, Plan};
use super::record::{Record, Running};
use super::report::Report;
use super::tree;
use super::words::lines;
use super::worker::Worker;

/// How long a keeper may take beyond what it was told before it is killed.
const KEEPER_LATE: Duration = Duration::from_secs(5);
/// How close to its deadline a claim is not looked after any more.
const CLOSE: Duration = Duration::from_millis(500);
/// How long the last output may take to be written.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// What became of a claimed dispatch.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) dispatch: i64,
    pub(super) fence: i64,
    pub(super) end: Settled,
    pub(super) log: std::path::PathBuf,
    /// Why this worker cannot do any work, if it cannot.
    pub(super) broken: Option<String>,
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It was reported.
    Reported(Outcome, String),
    /// It was not this worker's any more.
    Lost(String),
}

impl Done {
    /// Returns it for programs.
    pub(super) fn to_json(&self) -> Value {
        let (outcome, summary) = self.end.words();
        json!({
            "dispatch": self.dispatch,
            "fence": self.fence,
            "outcome": outcome,
            "summary": summary,
            "log": self.log.display().to_string(),
        })
    }
}

impl Settled {
    /// Says how it ended, and what there is to say.
    pub(super) fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Reported(outcome, summary) => (outcome.as_str(), summary),
            Self::Lost(why) => ("lost", why),
        }
    }
}

/// How a command ended, and what was noticed.
struct Ran {
    report: Report,
    broken: Option<String>,
}

/// What became of a command and of its claim.
struct Tended {
    /// The keeper's last word; one that died, or said nothing in time, has none.
    last: Option<Word>,
    lost: Option<Lost>,
}

impl Worker {
    /// Does what was claimed, and reports it.
    pub(super) fn work(&self, dispatch: &Dispatch, fence: Seq) -> Done {
        let files = self.folder.files(dispatch.id.get(), fence.get());
        let mut broken = None;
        let end = Hold::begin(&self.desk, dispatch, fence, self.lease).and_then(|mut hold| {
            let ran = self.run(&mut hold, dispatch, &files)?;
            broken = ran.broken;
            settle(&hold, dispatch, ran.report)
        });
        files.clear();
        Done {
            dispatch: dispatch.id.get(),
            fence: fence.get(),
            end: end.unwrap_or_else(|Lost(why)| Settled::Lost(why)),
            log: files.log,
            broken,
        }
    }

    fn run(&self, hold: &mut Hold<'_>, dispatch: &Dispatch, files: &Files) -> Result<Ran, Lost> {
        if self.stop.asked().is_some() {
            let report = Report::failed("the worker was stopped");
            let broken = None;
            return Ok(Ran { report, broken });
        }
        let (kept, record) = match self.start(hold, dispatch, files) {
            Ok(started) => started,
            Err(error) => return Ok(Ran::broken(format!("the worker cannot run it: {error}"))),
        };
        if self.stop.asked().is_some() {
            kept.tell(Order::Terminate);
        }
        let tended = self.tend(hold, &kept);
        let capture = self.keepers.bury(kept, tended.last.as_ref());
        record.remove();
        self.shown.forget(hold.id);
        capture.settle(LAST_OUTPUT);
        if let Some(lost) = tended.lost {
            return Err(lost);
        }
        match tended.last {
            Some(Word::Ended(end) | Word::Stuck(end, _)) if end.cause == Cause::Lost => {
                Err(Lost("its claim was over, and it was ended".to_owned()))
            }
            Some(Word::Ended(end)) => Ok(Ran {
                report: Report::of(end, &files.result),
                broken: None,
            }),
            Some(Word::Stuck(end, pids)) => Ok(Ran {
                report: Report::of(end, &files.result).stuck(&pids),
                broken: None,
            }),
            Some(Word::Cannot(why)) => Ok(Ran::broken(format!("the command cannot be run: {why}"))),
            None => Ok(Ran {
                report: Report::failed("its keeper died, and it was ended"),
                broken: None,
            }),
        }
    }

    /// Starts the command; a record of it is there before and as long as it runs.
    fn start(
        &self,
        hold: &Hold<'_>,
        dispatch: &Dispatch,
        files: &Files,
    ) -> io::Result<(Kept, Record)> {
        files.prepare(&dispatch.prompt)?;
        let mut running = Running {
            dispatch: dispatch.id.get(),
            fence: hold.fence.get(),
            nonce: random_word(),
            keeper: None,
            boot: tree::boot(),
        };
        let record = Record::write(&files.record, &running)?;
        let kept = self.keepers.start(&Plan {
            command: &self.command,
            files,
            environment: environment(dispatch, hold.fence, files),
            nonce: &running.nonce,
            until: hold.until,
            deadline: hold.deadline,
            grace: self.grace,
        });
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                record.remove();
                return Err(error);
            }
        };
        running.keeper = kept.process();
        // The nonce is enough to find everything; a full disk is no reason to stop here.
        let record = Record::write(&files.record, &running).unwrap_or(record);
        Ok((kept, record))
    }

    /// Keeps the claim until the keeper has its last word; a lost claim ends the command at once.
    fn tend(&self, hold: &mut Hold<'_>, kept: &Kept) -> Tended {
        let ended = |last| Tended { last, lost: None };
        loop {
            if let Ok(word) = kept.listen(hold.patience()) {
                return ended(word);
            }
            let progress = kept.capture.last_line();
            self.shown.show(hold.id, &progress);
            if let Some(deadline) = hold.deadline.filter(|deadline| deadline.left() < CLOSE) {
                // From here on the keeper has the time, and the claim is the deadline's.
                let over = deadline.after(self.grace).after(KEEPER_LATE);
                return ended(kept.listen(over.left()).unwrap_or(None));
            }
            let known = hold.until;
            if let Err(lost) = hold.keep(&progress) {
                kept.tell(Order::Kill);
                // Either it says that nothing is left, or it is buried with what is.
                return Tended {
                    last: kept.listen(KEEPER_LATE).unwrap_or(None),
                    lost: Some(lost),
                };
            }
            if hold.until != known {
                kept.tell(Order::Until(hold.until));
            }
        }
    }
}

impl Ran {
    fn broken(why: String) -> Self {
        Self {
            report: Report::failed(why.clone()),
            broken: Some(why),
        }
    }
}

/// What the command finds in its environment.
fn environment(
    dispatch: &Dispatch,
    fence: Seq,
    files: &Files,
) -> Vec<(&'static str, Option<OsString>)> {
    let run = dispatch.run.map(|run| run.to_string().into());
    vec![
        ("COMITY_DISPATCH", Some(dispatch.id.to_string().into())),
        ("COMITY_RUN", run),
        ("COMITY_PROJECT", Some(dispatch.project.to_string().into())),
        ("COMITY_FENCE", Some(fence.get().to_string().into())),
        ("COMITY_PROMPT_FILE", Some(files.prompt.clone().into())),
        ("COMITY_RESULT_FILE", Some(files.result.clone().into())),
    ]
}

/// Reports, first the tokens and then the end; what is refused as a report is reported as that. A
/// count that is refused is only noted: it says nothing about the work.
fn settle(hold: &Hold<'_>, dispatch: &Dispatch, report: Report) -> Result<Settled, Lost> {
    let mut report = report;
    if let Some(refused) = report_tokens(hold, dispatch, report.tokens)? {
        report.note(&format!("its tokens are not counted: {refused}"));
    }
    match finish(hold, &report)? {
        None => Ok(Settled::Reported(report.outcome, report.summary)),
        Some(refused) => {
            let report = Report::failed(format!("its report was refused: {refused}"));
            match finish(hold, &report)? {
                None => Ok(Settled::Reported(report.outcome, report.summary)),
                Some(refused) => Err(Lost(refused)),
            }
        }
    }
}

/// Reports what was used beside what earlier claims used, unless the command itself has reported as
/// much; returns why that is refused, if it is.
fn report_tokens(
    hold: &Hold<'_>,
    dispatch: &Dispatch,
    tokens: Option<u64>,
) -> Result<Option<String>, Lost> {
    let Some(tokens) = tokens.filter(|tokens| *tokens > 0) else {
        return Ok(None);
    };
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    let tokens = dispatch.tokens.saturating_add(tokens);
    let report = ReportDispatch {
        id: hold.id,
        tokens: Some(tokens),
        progress: None,
        fence: Some(hold.fence),
        expected_revision: None,
    };
    let reported = hold.insist_or(|desk, key| desk.command(Pace::Hurried, key, &report))?;
    let Err(refused) = reported else {
        return Ok(None);
    };
    let found = hold.insist(|desk, _| desk.query(&GetDispatch { id: hold.id }))?;
    Ok((found.dispatch.tokens < tokens).then_some(refused))
}

/// Reports the end; returns why that is refused, if it is.
fn finish(hold: &Hold<'_>, report: &Report) -> Result<Option<String>, Lost> {
    let finish = FinishDispatch {
        id: hold.id,
        outcome: report.outcome,
        verdict: report.verdict,
        summary: lines(&report.summary),
        result: report.result.clone(),
        fence: Some(hold.fence),
        expected_revision: None,
    };
    let finished = hold.insist_or(|desk, key| desk.command(Pace::Hurried, key, &finish))?;
    Ok(finished.err())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    // Paths are bytes
    #[test]
    fn a_directory_of_any_name_can_be_told() {
        let done = Done {
            dispatch: 7,
            fence: 70,
            end: Settled::Lost(String::new()),
            log: OsString::from_vec(b"/d\xff/7-70.log".to_vec()).into(),
            broken: None,
        };
        assert_eq!(done.to_json()["log"], "/d\u{fffd}/7-70.log");
    }
}
