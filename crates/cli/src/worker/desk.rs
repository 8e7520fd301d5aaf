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

/// What passes by itself, where nothing is claimed yet.
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
/// What an operation says of a claim that is not held any more, or not by this agent.
const LOST: [&str; 9] = [
    "lease_expired",
    "lease_ended",
    "already_settled",
    "illegal_transition",
    "not_holder",
    "not_found",
    "forbidden",
    "agent_retired",
    "unauthorized",
];
/// What an operation says of a request that it will never take.
const BAD: [&str; 3] = ["invalid", "too_large", "not_json"];
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

/// A call without the answer that it was made for.
#[derive(Debug)]
pub(super) struct Missed {
    failure: Failure,
    /// Whether the operation was called: what goes wrong before says nothing about a claim, even
    /// if its word is the same.
    is_called: bool,
}

impl Missed {
    /// Tells whether the claim that the call was for is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.says(&LOST)
    }

    /// Tells whether the request is one that will never be taken.
    pub(super) fn is_bad(&self) -> bool {
        self.says(&BAD)
    }

    /// Returns what went wrong.
    pub(super) fn message(&self) -> &str {
        self.failure.message()
    }

    fn says(&self, words: &[&str]) -> bool {
        self.is_called && !self.failure.is_away && words.contains(&code(&self.failure))
    }
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
        let project = self.with(Pace::Usual, Tags::default(), |session| {
            Ok(session.project()?)
        });
        project.map_err(|missed| missed.failure)
    }

    /// Calls a command.
    pub(super) fn command<C: Command>(
        &self,
        pace: Pace,
        key: &Key,
        request: &C,
    ) -> Result<C::Answer, Missed> {
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
        });
        let answer = answer.map_err(|missed| missed.failure)?;
        Ok(serde_json::from_value(answer)?)
    }

    /// Asks a query.
    pub(super) fn query<Q: Query + Serialize>(&self, request: &Q) -> Result<Q::Answer, Missed>
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
    ) -> Result<A, Missed> {
        self.with(pace, tags, |session| {
            Ok(serde_json::from_value(session.call(name, request)?)?)
        })
    }

    fn with<T>(
        &self,
        pace: Pace,
        tags: Tags,
        act: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, Missed> {
        let missed = |is_called| move |failure| Missed { failure, is_called };
        let globals = match (pace, text(HURRY)) {
            (Pace::Hurried, Ok(patience)) => self.globals.hurried(patience),
            _ => self.globals.clone(),
        };
        let context = Context::at(self.directory.clone(), &globals).map_err(Failure::from);
        let session = context.and_then(|context| Context { tags, ..context }.session());
        act(&session.map_err(missed(false))?).map_err(missed(true))
    }
}

/// Tells whether the same call may be answered otherwise in a while.
pub(super) fn is_passing(failure: &Failure) -> bool {
    failure.is_away || PASSING.contains(&code(failure))
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

#[cfg(test)]
mod tests {
    use comity_kernel::error::CODES;
    use serde_json::json;

    use super::*;

    fn missed(word: &str, is_called: bool) -> Missed {
        let failure = Failure::answered(json!({ "error": word }));
        Missed { failure, is_called }
    }

    #[test]
    fn only_an_operation_says_that_a_claim_is_lost() {
        let words = || CODES.iter().map(|code| code.word);
        let lost: Vec<_> = words()
            .filter(|word| missed(word, true).is_lost())
            .collect();
        assert_eq!(lost.len(), LOST.len());
        let bad: Vec<_> = words().filter(|word| missed(word, true).is_bad()).collect();
        assert_eq!(bad.len(), BAD.len());
        for word in ["unusable", "database_newer", "damaged", "a_newer_word", ""] {
            assert!(!missed(word, true).is_lost(), "{word}");
        }
        // Before the operation is called, a token file is not found, or a setting is invalid.
        for word in words() {
            assert!(!missed(word, false).is_lost() && !missed(word, false).is_bad());
        }
        let mut away = missed("not_found", true);
        away.failure.is_away = true;
        assert!(!away.is_lost());
    }
}
