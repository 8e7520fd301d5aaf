//! `comity archive`.

use std::time::{Duration, Instant};

use clap::Subcommand;
use comity_domain::Seq;
use comity_kernel::Error;
use comity_kernel::archive::archivist::{AskStatus, Rebuild, Retry, Verify};
use comity_kernel::archive::{ArchiveState, ArchiveStatus, Rebuilt, Retried, Verified};
use comity_server::archiving::Off;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::session::{Context, Session};
use crate::show::{Shown, View, archive};

/// How long `sync` waits for a server unless told.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The archive.
#[derive(Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Show how far the archive has come, and what keeps it from going on.
    Status,
    /// Archive everything there is; a running server does so by itself and is waited for.
    #[command(
        after_help = "It ends with 0 once the archive has reached the end of the log.\n\
        Example: comity archive sync && git -C .comity/archive.git log --stat"
    )]
    Sync,
    /// Compare the whole archive with the log: every line, every file. Repairs nothing.
    Verify,
    /// Make the repository anew from the database; the old one is kept beside it.
    Rebuild,
    /// Try again to write what is in quarantine.
    Retry,
}

impl ArchiveCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let form = Form::of(context.globals);
        match self {
            Self::Status => status(&session),
            Self::Sync => sync(&session, form),
            Self::Verify => verify(&session, form),
            Self::Rebuild => rebuild(&session, form),
            Self::Retry => retry(&session, form),
        }
    }
}

fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|error| Error::internal(error).into())
}

fn ask(session: &Session<'_>) -> Result<(Value, ArchiveStatus), Failure> {
    let answer = session.call("archive_status", &AskStatus {})?;
    let status = read(&answer)?;
    Ok((answer, status))
}

fn status(session: &Session<'_>) -> Result<Shown, Failure> {
    let (answer, status) = ask(session)?;
    let text = archive::status(&status);
    Ok(Shown::new(answer, View::Text(text)))
}

fn sync(session: &Session<'_>, form: Form) -> Result<Shown, Failure> {
    // Whoever may not ask how it stands may not have it written either.
    let (_, status) = ask(session)?;
    if status.state == ArchiveState::Off {
        return Err(Off::refusal().into());
    }
    let (server, head) = (session.door.server(), head_of(&status));
    let spinner = output::spinner(form, "archiving");
    if server.is_some() {
        wait_for(session, status, head)?;
    } else {
        let deadline = session.globals.timeout().map(|it| Instant::now() + it);
        session.door.archive(|through| {
            spinner.set_message(format!("archived {through} of {head}"));
            match deadline {
                Some(deadline) if Instant::now() > deadline => Err(not_there(through, head)),
                _ => Ok(()),
            }
        })?;
    }
    drop(spinner);
    let (answer, status) = ask(session)?;
    let text = archive::synced(&status, server.as_deref());
    Ok(Shown::new(answer, View::Text(text)))
}

/// Waits until the server has archived what was there.
fn wait_for(session: &Session<'_>, mut status: ArchiveStatus, head: Seq) -> Result<(), Failure> {
    let deadline = Instant::now() + session.globals.timeout().unwrap_or(PATIENCE);
    while status.through < head {
        if status.state == ArchiveState::Stopped {
            return Err(Failure::unusable(format!("the archive: {}", status.detail)));
        }
        if Instant::now() > deadline {
            return Err(not_there(status.through, head));
        }
        std::thread::sleep(LOOK_EVERY);
        (_, status) = ask(session)?;
    }
    Ok(())
}

fn head_of(status: &ArchiveStatus) -> Seq {
    Seq::new(status.through.get() + status.lag)
}

fn not_there(through: Seq, head: Seq) -> Failure {
    let reason = format!("the archive goes to event {through} of {head} so far");
    let next = "wait longer with `--timeout`; `comity archive status` says what keeps it";
    Failure::from(Error::Busy { reason }).advised(Some(next.to_owned()))
}

fn verify(session: &Session<'_>, form: Form) -> Result<Shown, Failure> {
    let spinner = output::spinner(form, "comparing the archive with the log");
    let answer = session.call("archive_verify", &Verify {})?;
    drop(spinner);
    let verified: Verified = read(&answer)?;
    let text = archive::verified(&verified);
    Ok(Shown {
        failure: (!verified.ok).then(differs),
        ..Shown::new(answer, View::Text(text))
    })
}

fn differs() -> Failure {
    let what = "the archive does not say what the log says".to_owned();
    let next = "`comity doctor` tells whether the log is sound; `comity archive rebuild` then makes \
                the repository anew and keeps the old one";
    Failure::from(Error::Damaged { what }).advised(Some(next.to_owned()))
}

fn rebuild(session: &Session<'_>, form: Form) -> Result<Shown, Failure> {
    let spinner = output::spinner(form, "making the archive anew");
    let answer = session.call("archive_rebuild", &Rebuild {})?;
    drop(spinner);
    let rebuilt: Rebuilt = read(&answer)?;
    let text = archive::rebuilt(&rebuilt);
    Ok(Shown::new(answer, View::Text(text)))
}

fn retry(session: &Session<'_>, form: Form) -> Result<Shown, Failure> {
    let spinner = output::spinner(form, "writing what is in quarantine");
    let answer = session.call("archive_retry", &Retry {})?;
    drop(spinner);
    let retried: Retried = read(&answer)?;
    let text = archive::retried(&retried);
    Ok(Shown::new(answer, View::Text(text)))
}
