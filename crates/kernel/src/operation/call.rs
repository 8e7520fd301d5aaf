//! Runs an operation by name: JSON in, JSON out.

use std::future::Future;
use std::path::{Component, Path};
use std::pin::Pin;
use std::time::Duration;

use comity_domain::limits::WAIT_US_MAX;
use comity_domain::{Span, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::registry::find;
use crate::actor::{Actor, Caller};
use crate::archive::archivist::{AskStatus, Rebuild, Retry, Verify};
use crate::archive::{Archivist, Export};
use crate::checkpoint::Prune;
use crate::command::{Command, Secret};
use crate::consumer::PollConsumer;
use crate::consumer::poll::NoteSeen;
use crate::doctor::{Backup, BackupMade, Doctor};
use crate::embedder::compares;
use crate::error::{Error, Impossible};
use crate::kernel::Kernel;
use crate::line::Patient;
use crate::query::{Query, Waiting};
use crate::ticket::{AsOf, Reply, Ticket};

/// What a call by name brings back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer as JSON, with `seq` or `as_of_seq`.
    pub answer: Value,
    /// Whether this is the stored first answer to the same key.
    pub replayed: bool,
    /// The secret that was made, for the surface to hand over once.
    pub secret: Option<Secret>,
}

impl Outcome {
    /// Returns the answer with what it hands over once.
    pub fn whole(self) -> Value {
        let (entry, secret) = match &self.secret {
            None => return self.answer,
            Some(Secret::Token(issued)) => ("token", issued.secret.reveal()),
            Some(Secret::Hook(secret)) => ("hook", secret.reveal()),
        };
        with_secret(self.answer, entry, &secret)
    }
}

/// An answer to come.
pub type Call = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send>>;

/// Adds a new secret to the answer that made it: inside its own entry, or as one beside another's.
fn with_secret(mut answer: Value, entry: &str, secret: &str) -> Value {
    match answer.get_mut(entry) {
        Some(Value::Object(entry)) => {
            entry.insert("secret".to_owned(), secret.into());
        }
        _ => {
            if let Value::Object(answer) = &mut answer {
                answer.insert(entry.to_owned(), secret.into());
            }
        }
    }
    answer
}

pub(super) fn call_command<C: Command + DeserializeOwned>(
    kernel: &Kernel,
    caller: Caller,
    request: Value,
) -> Call {
    let mut command = match decode::<C>(C::NAME, request) {
        Ok(command) => command,
        Err(error) => return refused(error),
    };
    match kernel.must_ask(command.embeds()) {
        None if !compares(command.embeds()) => done::<C>(kernel.execute(caller, command)),
        asking => done::<C>(kernel.execute_after(asking, caller, command)),
    }
}

/// Shows what a command answers.
fn done<C: Command>(
    reply: impl Future<Output = Result<Reply<C::Answer>, Error>> + Send + 'static,
) -> Call {
    Box::pin(async move {
        let reply = reply.await?;
        Ok(Outcome {
            answer: with_number(&reply.answer, "seq", reply.seq.get())?,
            replayed: reply.replayed,
            secret: C::secret(&reply.answer),
        })
    })
}

pub(super) fn call_query<Q: Query<Answer: Serialize> + DeserializeOwned>(
    kernel: &Kernel,
    caller: Caller,
    request: Value,
) -> Call {
    let mut query = match decode::<Q>(Q::NAME, request) {
        Ok(query) => query,
        Err(error) => return refused(error),
    };
    match kernel.must_ask(query.embeds()) {
        Some(asking) => read(kernel.query_after(asking, caller.actor, query)),
        None => read(kernel.query(caller.actor, query)),
    }
}

/// Shows what a query answers.
fn read<T: Serialize + Send>(
    answer: impl Future<Output = Result<AsOf<T>, Error>> + Send + 'static,
) -> Call {
    Box::pin(async move {
        let read = answer.await?;
        Ok(Outcome {
            answer: with_number(&read.answer, "as_of_seq", read.as_of_seq.get())?,
            replayed: false,
            secret: None,
        })
    })
}

/// Hands over a command whose caller may wait until others let go.
pub(super) fn call_patiently<C: Patient + DeserializeOwned>(
    kernel: &Kernel,
    caller: Caller,
    request: Value,
) -> Call {
    let reply = match decode::<C>(C::NAME, request) {
        Ok(command) => kernel.execute_patiently(caller, command),
        Err(error) => return refused(error),
    };
    Box::pin(async move {
        let reply = reply.await?;
        Ok(Outcome {
            answer: with_number(&reply.answer, "seq", reply.seq.get())?,
            replayed: reply.replayed,
            secret: None,
        })
    })
}

/// Asks again whenever something new is there, until the answer is something or the wait is over.
pub(super) fn call_waiting<Q>(kernel: &Kernel, caller: Caller, request: Value) -> Call
where
    Q: Waiting<Answer: Serialize> + Clone + Sync + DeserializeOwned,
{
    match decode::<Q>(Q::NAME, request) {
        Ok(query) => wait(kernel, caller.actor, query),
        Err(error) => refused(error),
    }
}

/// Notes that a consumer asked, and then waits for it.
pub(super) fn call_poll(kernel: &Kernel, caller: Caller, request: Value) -> Call {
    let query = match decode::<PollConsumer>(PollConsumer::NAME, request) {
        Ok(query) => query,
        Err(error) => return refused(error),
    };
    let noted = kernel.execute(caller.actor.clone().into(), NoteSeen(query.clone()));
    let polled = wait(kernel, caller.actor, query);
    Box::pin(async move {
        // What cannot be written for the moment can be read nevertheless; what is wrong with the
        // request the read says itself.
        let _ = noted.await;
        polled.await
    })
}

fn wait<Q>(kernel: &Kernel, actor: Actor, query: Q) -> Call
where
    Q: Waiting<Answer: Serialize> + Clone + Sync,
{
    let patience_us = query.patience().map_or(0, Span::micros);
    if patience_us > WAIT_US_MAX {
        return refused(Error::invalid("wait", "must be at most 60 s"));
    }
    let patience = Duration::from_micros(patience_us.unsigned_abs());
    read(kernel.wait_for(actor, query, patience, Q::is_something))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "every operation is called the same way"
)]
pub(super) fn call_doctor(kernel: &Kernel, caller: Caller, request: Value) -> Call {
    let decoded = operators_alone(&caller, "doctor", request);
    match decoded {
        Ok(Doctor {}) => beside(kernel.examine()),
        Err(error) => refused(error),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "every operation is called the same way"
)]
pub(super) fn call_backup(kernel: &Kernel, caller: Caller, request: Value) -> Call {
    let backup = match operators_alone::<Backup>(&caller, "backup", request) {
        Ok(backup) => backup,
        Err(error) => return refused(error),
    };
    let by_right_of_the_directory = caller.actor == Actor::OPERATOR;
    if !by_right_of_the_directory && backup.to.as_deref().is_some_and(|to| !is_plain_name(to)) {
        let rule = "must be a plain file name; it goes to the data directory's `backups`";
        return refused(Error::invalid("to", rule));
    }
    let copied = kernel.copy(backup.to);
    beside(async move {
        let file = copied.await?;
        Ok(BackupMade {
            backup: file.display().to_string(),
        })
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "every operation is called the same way"
)]
pub(super) fn call_export(kernel: &Kernel, caller: Caller, request: Value) -> Call {
    let export = match operators_alone::<Export>(&caller, "export", request) {
        Ok(export) => export,
        Err(error) => return refused(error),
    };
    let by_right_of_the_directory = caller.actor == Actor::OPERATOR;
    if !by_right_of_the_directory && export.to.as_deref().is_some_and(|to| !is_plain_name(to)) {
        let rule = "must be a plain name; it goes to the data directory's `exports`";
        return refused(Error::invalid("to", rule));
    }
    beside(kernel.export(export))
}

pub(super) fn call_prune(kernel: &Kernel, caller: Caller, request: Value) -> Call {
    match operators_alone::<Prune>(&caller, "prune", request) {
        Ok(prune) => beside(kernel.prune(caller, prune)),
        Err(error) => refused(error),
    }
}

/// Has whoever writes the archive answer.
fn by_the_archivist<T, R>(
    kernel: &Kernel,
    caller: &Caller,
    (name, request): (&'static str, Value),
    ask: fn(&dyn Archivist, &R) -> Result<T, Error>,
) -> Call
where
    T: Serialize + Send + 'static,
    R: DeserializeOwned + Send + 'static,
{
    match operators_alone::<R>(caller, name, request) {
        Ok(request) => {
            let answer = kernel.ask_archivist(move |archivist| ask(archivist, &request));
            beside(answer)
        }
        Err(error) => refused(error),
    }
}

macro_rules! calls_of_the_archivist {
    ($($call:ident, $name:literal, $request:ty, $ask:expr;)+) => {$(
        pub(super) fn $call(kernel: &Kernel, caller: Caller, request: Value) -> Call {
            by_the_archivist(kernel, &caller, ($name, request), $ask)
        }
    )+};
}

calls_of_the_archivist! {
    call_archive_status, "archive_status", AskStatus, |archivist, _: &AskStatus| archivist.status();
    call_archive_verify, "archive_verify", Verify, |archivist, _: &Verify| archivist.verify();
    call_archive_rebuild, "archive_rebuild", Rebuild, |archivist, _: &Rebuild| archivist.rebuild();
    call_archive_retry, "archive_retry", Retry, |archivist, _: &Retry| archivist.retry();
}

fn is_plain_name(path: &Path) -> bool {
    let mut parts = path.components();
    matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    )
}

fn operators_alone<T: DeserializeOwned>(
    caller: &Caller,
    name: &'static str,
    request: Value,
) -> Result<T, Error> {
    let operation = find(name)?;
    caller.actor.must_be_one_of(name, operation.who)?;
    decode(name, request)
}

fn decode<T: DeserializeOwned>(name: &'static str, mut request: Value) -> Result<T, Error> {
    find(name)?.schemas().spell_out_seconds(&mut request)?;
    Ok(json::decode(request)?)
}

/// Waits for work that runs on a thread of its own.
fn beside<T: Serialize + Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Call {
    Box::pin(async move {
        Ok(Outcome {
            answer: serde_json::to_value(work.await?)?,
            replayed: false,
            secret: None,
        })
    })
}

fn refused(error: Error) -> Call {
    Box::pin(Ticket::answered(Err(error)))
}

fn with_number(answer: &impl Serialize, name: &str, number: i64) -> Result<Value, Error> {
    match serde_json::to_value(answer)? {
        Value::Object(mut object) => {
            object.insert(name.to_owned(), number.into());
            Ok(Value::Object(object))
        }
        _ => Err(Error::internal(Impossible("an answer that is no object"))),
    }
}
