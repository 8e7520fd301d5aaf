//! The way of a worker to the operations: a door that is opened for each call, so that a server can
//! start and stop meanwhile (A7).

use std::path::PathBuf;

use comity_domain::token::to_hex;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::ambient::Ambient;
use comity_kernel::project::ProjectRef;
use comity_kernel::{Command, Error, Query};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::door::Tags;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::parse::text;
use crate::session::{Context, Session};

/// What passes by itself; everything else that is answered is an answer.
const PASSING: [&str; 8] = [
    "busy",
    "storage_full",
    "indeterminate",
    "rate_limited",
    "limit_exceeded",
    "too_slow",
    "internal",
    "locked",
];
/// How long a call about a claim may take: it is one of many chances.
const HURRY: &str = "10s";

/// Calls operations for a worker.
pub(super) struct Desk {
    globals: Globals,
    directory: PathBuf,
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As long as any command's.
    Usual,
    /// Not as long: there will be another chance.
    Hurried,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To a server.
    Served,
    /// To the database; the data directory is held meanwhile.
    Embedded,
}

/// One call, which takes effect once however often it is made.
pub(super) struct Key(IdempotencyKey);

impl Key {
    /// Makes a key.
    pub(super) fn new() -> Result<Self, Error> {
        let key = IdempotencyKey::parse(random_word());
        key.map(Self).map_err(|rule| Error::invalid("key", rule))
    }

    fn tags(&self) -> Tags {
        Tags {
            key: Some(self.0.clone()),
            correlation: None,
        }
    }
}

impl Desk {
    /// Makes the desk of a process, and says once what is wrong with the way to the server.
    pub(super) fn new(context: &Context<'_>) -> Result<Self, Failure> {
        let mut globals = context.globals.clone();
        if globals.url.is_some() {
            context.door()?;
            globals.quiet = true;
        }
        Ok(Self {
            globals,
            directory: context.directory.clone(),
        })
    }

    /// Returns the project to ask about, if it must be named.
    pub(super) fn project(&self) -> Result<Option<ProjectRef>, Failure> {
        self.with(Pace::Usual, Tags::default(), |session| {
            Ok(session.project()?)
        })
    }

    /// Calls a command.
    pub(super) fn command<C: Command>(
        &self,
        pace: Pace,
        key: &Key,
        request: &C,
    ) -> Result<C::Answer, Failure> {
        self.call(pace, key.tags(), C::NAME, request)
    }

    /// Calls a command that depends on the way it takes.
    pub(super) fn command_by<C: Command>(
        &self,
        key: &Key,
        request: impl FnOnce(Way) -> C,
    ) -> Result<C::Answer, Failure> {
        let answer = self.with(Pace::Usual, key.tags(), |session| {
            let way = match session.door.server() {
                Some(_) => Way::Served,
                None => Way::Embedded,
            };
            session.call(C::NAME, &request(way))
        })?;
        Ok(serde_json::from_value(answer)?)
    }

    /// Asks a query.
    pub(super) fn query<Q: Query + Serialize>(&self, request: &Q) -> Result<Q::Answer, Failure>
    where
        Q::Answer: DeserializeOwned,
    {
        self.call(Pace::Hurried, Tags::default(), Q::NAME, request)
    }

    fn call<A: DeserializeOwned>(
        &self,
        pace: Pace,
        tags: Tags,
        name: &str,
        request: &impl Serialize,
    ) -> Result<A, Failure> {
        let answer = self.with(pace, tags, |session| session.call(name, request))?;
        Ok(serde_json::from_value(answer)?)
    }

    fn with<T>(
        &self,
        pace: Pace,
        tags: Tags,
        act: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let globals = match (pace, text(HURRY)) {
            (Pace::Hurried, Ok(patience)) => self.globals.hurried(patience),
            _ => self.globals.clone(),
        };
        let context = Context::at(self.directory.clone(), &globals)?;
        act(&Context { tags, ..context }.session()?)
    }
}

/// Tells whether the same call may be answered otherwise in a while.
pub(super) fn is_passing(failure: &Failure) -> bool {
    failure.is_away || PASSING.contains(&code(failure))
}

/// Tells whether a call says nothing about the claim it is for: this machine may do better in a while.
pub(super) fn is_undecided(failure: &Failure) -> bool {
    is_passing(failure) || code(failure) == "unusable"
}

/// Returns the word for what went wrong.
pub(super) fn code(failure: &Failure) -> &str {
    let word = failure.body.get("error").and_then(Value::as_str);
    word.unwrap_or_default()
}

/// Returns a word that nobody guesses and nobody else has.
pub(super) fn random_word() -> String {
    to_hex(&Ambient::system().random::<16>())
}
