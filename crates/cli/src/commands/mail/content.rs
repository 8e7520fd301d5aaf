//! What a message says and carries, as options.

use std::fs::File;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use comity_domain::Importance;
use comity_domain::limits::{ATTACHMENT_BYTES_MAX, BODY_BYTES_MAX};
use comity_kernel::mail::attachment::Base64;
use comity_kernel::mail::{Body, PutAttachment};
use comity_kernel::{Command as _, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::commands::source::{self, bounded, unreadable};
use crate::failure::Failure;
use crate::parse::word;
use crate::session::Session;

/// What a message says and carries.
#[derive(Args)]
pub(super) struct Content {
    /// Markdown; `-` reads it from stdin, and so does leaving it out where something is piped.
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "body_file",
        allow_hyphen_values = true
    )]
    body: Option<String>,
    /// A file that holds the body.
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// A file that it carries; again for more.
    #[arg(long = "attach", value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// How a message is marked.
#[derive(Args)]
pub(super) struct Weight {
    /// How much it matters.
    #[arg(long, value_name = "WORD", value_parser = word::<Importance>(&["low", "normal", "high", "urgent"]))]
    pub(super) importance: Option<Importance>,
    /// Ask the recipients to acknowledge it.
    #[arg(long)]
    pub(super) ack: bool,
}

impl Content {
    /// Returns the body from wherever it is.
    pub(super) fn body(&self) -> Result<Body, Error> {
        let text = match (self.body.as_deref(), &self.body_file) {
            (Some("-"), _) => stdin()?,
            (Some(text), _) => text.to_owned(),
            (None, Some(path)) => source::file("--body-file", path, BODY_BYTES_MAX)?,
            (None, None) if std::io::stdin().is_terminal() => {
                let rule = "must be given: as text, with `--body-file FILE`, or piped in";
                return Err(Error::invalid("--body", rule));
            }
            (None, None) => stdin()?,
        };
        Body::parse(text).map_err(|rule| Error::invalid("--body", rule))
    }

    /// Has the files kept, and returns them as a message names them.
    pub(super) fn attach<T: DeserializeOwned>(
        &self,
        session: &Session<'_>,
    ) -> Result<Vec<T>, Failure> {
        let attach = |path: &PathBuf| {
            let kept = put(session, path, "--attach")?;
            let sha256 = kept.pointer("/attachment/sha256");
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let named = serde_json::from_value(json!({ "sha256": sha256, "name": name }));
            let unfit = |rule| format!("`{}` has no name to carry: {rule}", path.display());
            named.map_err(|rule| Error::invalid("--attach", unfit(rule)).into())
        };
        self.files.iter().map(attach).collect()
    }
}

/// Has a file kept.
pub(super) fn put(session: &Session<'_>, path: &Path, option: &str) -> Result<Value, Failure> {
    let file = File::open(path).map_err(|error| unreadable(option, path, &error))?;
    let bytes = bounded(file, ATTACHMENT_BYTES_MAX);
    let bytes = bytes.map_err(|error| unreadable(option, path, &error))?;
    if bytes.len() > ATTACHMENT_BYTES_MAX {
        let rule = format!(
            "`{}` has more than {ATTACHMENT_BYTES_MAX} bytes",
            path.display()
        );
        return Err(Error::invalid(option, rule).into());
    }
    let content = Base64::new(bytes);
    session.call(PutAttachment::NAME, &PutAttachment::new(content))
}

fn stdin() -> Result<String, Error> {
    source::text_of(std::io::stdin().lock(), "stdin", BODY_BYTES_MAX)
}
