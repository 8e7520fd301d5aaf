//! `comity events tail`.

use std::time::Duration;

use clap::Args;
use comity_domain::{RunId, Seq};
use comity_kernel::Query as _;
use comity_kernel::event::Events;
use comity_kernel::page::Limit;
use comity_kernel::run::GetRunStatus;
use serde_json::Value;

use super::choosing::Choosing;
use super::list::page;
use crate::commands::mail::waiting::{longest, span};
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::parse::json;
use crate::session::{Context, Session};
use crate::show::{events, field, harmless_json};

/// How many events a tail begins with.
const LAST: u32 = 10;
/// How long it rests when no server answers.
const REST: Duration = Duration::from_millis(500);
/// How long it may wait before it looks whether a run has ended.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// Follows events.
#[derive(Args)]
#[command(
    after_help = "With --json each event is one JSON object on a line of its own.\n\
    A server may start, stop or restart meanwhile: it goes on behind the last event shown.\n\
    Example: comity events tail -f --run 7 --until-ended"
)]
pub(crate) struct Tail {
    /// Go on with what happens from now on.
    #[arg(short, long)]
    follow: bool,
    /// Begin behind this event.
    #[arg(long, value_name = "SEQ", value_parser = json::<Seq>, conflicts_with = "last")]
    since: Option<Seq>,
    /// Begin so many events before the end of the log, whether they match or not.
    #[arg(long, value_name = "N", default_value_t = LAST)]
    last: u32,
    /// Follow until the run of `--run` has ended.
    #[arg(long, requires = "run")]
    until_ended: bool,
    #[command(flatten)]
    choosing: Choosing,
}

impl Tail {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<(), Failure> {
        let mut through = self.since;
        loop {
            match self.step(context, through) {
                Ok(Step::On(at)) => through = Some(at),
                Ok(Step::Done) => return Ok(()),
                // Nothing is lost by waiting for a server to come back: the log has it.
                Err(failure) if self.follows() && is_passing(&failure) => std::thread::sleep(REST),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Shows one page; each opens its own door, so that a server may start or end meanwhile.
    fn step(&self, context: &Context<'_>, through: Option<Seq>) -> Result<Step, Failure> {
        let session = context.session()?;
        // What is asked first holds for all that is read afterwards.
        let is_over = !self.follows() || self.has_ended(&session)?;
        let through = match through {
            Some(through) => through,
            None => self.beginning(&session)?,
        };
        let wait = match (is_over, self.until_ended) {
            (true, _) => Duration::ZERO,
            (false, true) => longest(&session).min(LOOKS_EVERY),
            (false, false) => longest(&session),
        };
        let wanted = self.choosing.wanted(&session)?;
        let request = page(wanted, Some(through), Limit::MOST, Some(span(wait)));
        let answer = session.call(Events::NAME, &request)?;
        for event in answer
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if !show(Form::of(context.globals), event) {
                return Ok(Step::Done);
            }
        }
        let at = answer.get("through").and_then(Value::as_i64);
        let at = at.map_or(through, Seq::new);
        let is_drained = answer.get("next").is_none_or(Value::is_null);
        Ok(if is_drained && is_over {
            Step::Done
        } else {
            Step::On(at)
        })
    }

    const fn follows(&self) -> bool {
        self.follow || self.until_ended
    }

    /// Tells whether the run has ended that is waited for.
    fn has_ended(&self, session: &Session<'_>) -> Result<bool, Failure> {
        let Some(run) = self.choosing.run.filter(|_| self.until_ended) else {
            return Ok(false);
        };
        ended(session, run)
    }

    /// Returns the place so many events before the end of the log.
    fn beginning(&self, session: &Session<'_>) -> Result<Seq, Failure> {
        let nothing = page(
            self.choosing.wanted(session)?,
            Some(Seq::new(i64::MAX)),
            Limit::MOST,
            None,
        );
        let answer = session.call(Events::NAME, &nothing)?;
        let head = answer.get("as_of_seq").and_then(Value::as_i64);
        Ok(Seq::new(
            (head.unwrap_or_default() - i64::from(self.last)).max(0),
        ))
    }
}

/// What a page leads to.
enum Step {
    /// More, behind this place.
    On(Seq),
    /// The end.
    Done,
}

fn ended(session: &Session<'_>, run: RunId) -> Result<bool, Failure> {
    let status = session.call(GetRunStatus::NAME, &GetRunStatus { run, at: None })?;
    let state = status.get("run").map(|run| field(run, "state"));
    Ok(state.is_some_and(|state| !matches!(state.as_str(), "active" | "paused")))
}

/// Tells whether a server is away, or busy starting or stopping.
fn is_passing(failure: &Failure) -> bool {
    failure.is_away || failure.body.get("error") == Some(&Value::from("busy"))
}

/// Shows an event, and tells whether anybody still reads.
fn show(form: Form, event: &Value) -> bool {
    match form {
        Form::Quiet => true,
        Form::Json => output::is_heard(&harmless_json(&event.to_string())),
        Form::People => output::is_heard(&events::line(event)),
    }
}
