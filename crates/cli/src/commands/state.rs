//! `comity state`.

use std::path::Path;

use clap::{Args, Subcommand};
use comity_domain::limits::STATE_REQUEST_BYTES_MAX;
use comity_domain::{ScopeName, Span, StateKey, json};
use comity_kernel::state::list::Prefix;
use comity_kernel::state::{
    ClearState, DeleteState, Given, ListScopes, ListState, LoadState, SaveState,
};
use comity_kernel::{Command as _, Error, Query as _};
use serde_json::Value;

use super::paging::Paging;
use super::source;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Column, Shown, View, field, harmless_json, listing};

/// State.
#[derive(Subcommand)]
pub(crate) enum StateCommand {
    /// Save a JSON value under a key.
    Set(Set),
    /// Print the value that was saved under a key.
    Get(Get),
    /// Delete what was saved under a key.
    Delete(Delete),
    /// List what a scope holds.
    List(List),
    /// Delete everything that a scope holds.
    Clear(Clear),
    /// List the scopes that hold something.
    Scopes(Scopes),
}

/// Where something is kept.
#[derive(Args)]
struct At {
    /// The scope: `agent/NAME` is an agent's own, every other one is shared by the project.
    #[arg(value_parser = text::<ScopeName>)]
    scope: ScopeName,
    /// The key.
    #[arg(id = "state_key", value_name = "KEY", value_parser = text::<StateKey>)]
    key: StateKey,
}

#[derive(Args)]
#[command(
    after_help = "It ends with 1 if --expect is given and another version is there.\n\
    Examples: comity state set agent/Blue plan '{\"next\":\"tests\"}'\n          \
    comity state set build last @result.json --expect 3 --ttl 1d"
)]
pub(crate) struct Set {
    #[command(flatten)]
    at: At,
    /// The value as JSON; `@FILE` reads it from a file, `-` or nothing from stdin.
    #[arg(default_value = "-")]
    value: String,
    /// Save only if this version is there; 0: only if nothing is.
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i64).range(0..))]
    expect: Option<i64>,
    /// How long it is kept, such as `12h`; for good unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    ttl: Option<Span>,
}

#[derive(Args)]
#[command(after_help = "It ends with 1 if nothing is there.\n\
    Example: comity state get agent/Blue plan | jq -r .next")]
pub(crate) struct Get {
    #[command(flatten)]
    at: At,
}

#[derive(Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    at: At,
    /// Delete only if this version is there.
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i64).range(1..))]
    expect: Option<i64>,
}

#[derive(Args)]
pub(crate) struct List {
    /// The scope.
    #[arg(value_parser = text::<ScopeName>)]
    scope: ScopeName,
    /// Only keys that begin so.
    #[arg(long, value_name = "TEXT", value_parser = text::<Prefix>)]
    prefix: Option<Prefix>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Clear {
    /// The scope.
    #[arg(value_parser = text::<ScopeName>)]
    scope: ScopeName,
}

#[derive(Args)]
pub(crate) struct Scopes {
    #[command(flatten)]
    paging: Paging,
}

impl StateCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Set(set) => set.run(context),
            Self::Get(get) => get.run(context),
            Self::Delete(delete) => delete.run(context),
            Self::List(list) => list.run(context),
            Self::Clear(clear) => clear.run(context),
            Self::Scopes(scopes) => scopes.run(context),
        }
    }
}

impl Set {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let value = value(&self.value)?;
        let session = context.session()?;
        let request = SaveState {
            project: session.project()?,
            scope: Some(self.at.scope.clone()),
            key: self.at.key.clone(),
            value,
            expected_version: self.expect,
            ttl: self.ttl,
        };
        Ok(one("saved", session.call(SaveState::NAME, &request)?))
    }
}

impl Get {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = LoadState {
            project: session.project()?,
            scope: Some(self.at.scope.clone()),
            key: self.at.key.clone(),
        };
        let answer = session.call(LoadState::NAME, &request)?;
        let value = answer.get("value").unwrap_or(&Value::Null);
        let text = harmless_json(&value.to_string());
        Ok(Shown::new(answer, View::Raw(text)))
    }
}

impl Delete {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = DeleteState {
            project: session.project()?,
            scope: Some(self.at.scope.clone()),
            key: self.at.key.clone(),
            expected_version: self.expect,
        };
        Ok(one("deleted", session.call(DeleteState::NAME, &request)?))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListState {
            project: session.project()?,
            scope: Some(self.scope.clone()),
            prefix: self.prefix.clone(),
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListState::NAME, &request)?;
        let text = listing::states(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Clear {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ClearState {
            project: session.project()?,
            scope: Some(self.scope.clone()),
        };
        let answer = session.call(ClearState::NAME, &request)?;
        let keys = answer.get("keys").and_then(Value::as_array);
        let count = keys.map_or(0, Vec::len);
        let text = format!("cleared {}: {count} keys", field(&answer, "scope"));
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Scopes {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        const COLUMNS: &[Column] = &[
            Column::text("scope"),
            Column::text("keys"),
            Column::text("bytes"),
        ];
        let session = context.session()?;
        let request = ListScopes {
            project: session.project()?,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListScopes::NAME, &request)?;
        Ok(Shown::table(answer, COLUMNS))
    }
}

/// Reads a value that is given as it is, in a file, or on stdin.
fn value(given: &str) -> Result<Given, Error> {
    let text = match given.strip_prefix('@') {
        Some(path) => source::file("value", Path::new(path), STATE_REQUEST_BYTES_MAX)?,
        None => source::text("value", given, STATE_REQUEST_BYTES_MAX)?,
    };
    Ok(Given::new(json::parse(text.as_bytes())?))
}

/// Says what was done in one line.
fn one(done: &str, answer: Value) -> Shown {
    let state = answer.get("state").unwrap_or(&answer);
    let (scope, key) = (field(state, "scope"), field(state, "key"));
    let text = format!("{done} {scope} {key}, version {}", field(state, "version"));
    Shown::new(answer, View::Text(text))
}
