//! `comity events append` and `stream`.

use clap::Args;
use comity_domain::{CustomKind, PlainName};
use comity_kernel::stream::{AppendEvent, Expected, ReadStream};
use comity_kernel::{Command as _, Query as _};
use serde_json::{Map, Value};

use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, events, field};

/// Appends to a stream.
#[derive(Args)]
#[command(
    after_help = "Example: comity events append deploys custom.done '{\"to\":\"eu\"}' --expect 3"
)]
pub(crate) struct Append {
    /// The stream's name; the first event makes it.
    #[arg(value_parser = text::<PlainName>)]
    stream: PlainName,
    /// The kind of event: `custom.` and a word of yours.
    #[arg(value_parser = text::<CustomKind>)]
    kind: CustomKind,
    /// What it says: a JSON object.
    #[arg(value_name = "JSON", value_parser = json::<Map<String, Value>>, default_value = "{}")]
    payload: Map<String, Value>,
    /// The version that the stream must have: a number, `none` or `any`.
    #[arg(long, value_name = "VERSION", value_parser = expected, default_value = "any")]
    expect: Expected,
}

/// Reads a stream.
#[derive(Args)]
pub(crate) struct Stream {
    /// The stream's name.
    #[arg(value_parser = text::<PlainName>)]
    stream: PlainName,
    #[command(flatten)]
    paging: Paging,
}

impl Append {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = AppendEvent {
            project: session.project()?,
            stream: self.stream.clone(),
            kind: self.kind.clone(),
            payload: self.payload.clone(),
            expected_version: self.expect,
        };
        let answer = session.call(AppendEvent::NAME, &request)?;
        let (version, seq) = (field(&answer, "version"), field(&answer, "seq"));
        let text = format!("{} is at version {version}, event {seq}", self.stream);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Stream {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ReadStream {
            project: session.project()?,
            stream: self.stream.clone(),
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ReadStream::NAME, &request)?;
        let text = events::stream(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Reads a number, or one of two words.
fn expected(given: &str) -> Result<Expected, String> {
    json(given).or_else(|_| text(given))
}
