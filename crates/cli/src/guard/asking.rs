//! Asks the guard's question, once and in time.

use std::sync::mpsc;
use std::time::Duration;

use comity_domain::Pattern;
use comity_kernel::Error;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::globals::Globals;
use crate::lease_file::{KeptLease, LeaseFile};
use crate::session::Context;

/// The operation.
const OPERATION: &str = "guard_check";
/// How long the whole question may take, from finding out whom to ask to the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The errors that are about the question, not about whoever could answer it.
const ABOUT_THE_QUESTION: [&str; 4] = ["invalid", "too_large", "limit_exceeded", "not_json"];

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Nobody could be asked, or not in time: the project's setting for that decides.
    Away(Failure),
    /// This question cannot be answered, whoever is asked: it counts as a conflict, or else a name
    /// that nobody can reserve would be a way around.
    Unanswerable(Failure),
}

/// Returns how long to wait for an answer.
fn patience(globals: &Globals) -> Duration {
    globals.timeout().unwrap_or(PATIENCE)
}

/// Asks about paths. The thread that asks is left behind when it takes too long: it only reads.
pub(crate) fn ask(globals: &Globals, paths: Vec<String>) -> Result<Value, Unanswered> {
    let patience = patience(globals);
    let (sender, receiver) = mpsc::channel();
    let globals = globals.clone();
    let asking = std::thread::Builder::new().spawn(move || {
        // Nobody waits any more if the time is over.
        let _ = sender.send(answer(&globals, &paths));
    });
    if let Err(error) = asking {
        return Err(Unanswered::Away(Failure::unusable(error.to_string())));
    }
    receiver.recv_timeout(patience).unwrap_or_else(|_| {
        let reason = format!("no answer within {} s", patience.as_secs_f64());
        Err(Unanswered::Away(Error::Busy { reason }.into()))
    })
}

fn answer(globals: &Globals, paths: &[String]) -> Result<Value, Unanswered> {
    let context = Context::new(globals).map_err(away)?;
    if globals.url.is_none() && !context.directory.is_dir() {
        let shown = context.directory.display();
        let what = format!("there is no data directory `{shown}`");
        return Err(Unanswered::Away(Failure::unusable(what)));
    }
    let session = context.session().map_err(Unanswered::Away)?;
    let file = LeaseFile::of(&session.who, globals, &context.directory).map_err(away)?;
    let leases = match file {
        Some(file) => file
            .read()
            .map_err(|error| Unanswered::Unanswerable(error.into()))?,
        None => Vec::new(),
    };
    let leases: Vec<_> = leases_on(paths, &leases)
        .map(|lease| json!({ "id": lease.id, "fence": lease.fence }))
        .collect();
    let mut request = json!({ "paths": paths, "leases": leases });
    if let (Some(project), Value::Object(request)) =
        (session.project().map_err(away)?, &mut request)
    {
        let project =
            serde_json::to_value(project).map_err(|error| away(Error::internal(error)))?;
        request.insert("project".to_owned(), project);
    }
    session.call(OPERATION, &request).map_err(|failure| {
        let word = failure.body.get("error").and_then(Value::as_str);
        match word {
            Some(word) if ABOUT_THE_QUESTION.contains(&word) => Unanswered::Unanswerable(failure),
            _ => Unanswered::Away(failure),
        }
    })
}

/// Chooses the leases that some of the paths may lie under, without regard to case; one whose
/// pattern cannot be read may be any.
fn leases_on<'a>(
    paths: &[String],
    leases: &'a [KeptLease],
) -> impl Iterator<Item = &'a KeptLease> + use<'a> {
    let paths: Vec<_> = paths
        .iter()
        .filter_map(|path| Pattern::literal(path).ok())
        .map(|path| path.folded())
        .collect();
    leases.iter().filter(move |lease| {
        let pattern = Pattern::parse(&lease.path_pattern).map(|pattern| pattern.folded());
        pattern.map_or(true, |pattern| {
            paths.iter().any(|path| path.overlaps(&pattern))
        })
    })
}

fn away(error: Error) -> Unanswered {
    Unanswered::Away(error.into())
}
