//! What a message says and carries, as options.

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use comity_domain::Importance;
use comity_domain::limits::{ATTACHMENT_BYTES_MAX, BODY_BYTES_MAX};
use comity_kernel::mail::attachment::Base64;
use comity_kernel::mail::{Body, PutAttachment};
use comity_kernel::{Command as _, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
            (Some("-"), _) => text_of(std::io::stdin().lock(), "stdin")?,
            (Some(text), _) => text.to_owned(),
            (None, Some(path)) => {
                let file =
                    File::open(path).map_err(|error| unreadable("--body-file", path, &error))?;
                text_of(file, "--body-file")?
            }
            (None, None) if std::io::stdin().is_terminal() => {
                let rule = "must be given: as text, with `--body-file FILE`, or piped in";
                return Err(Error::invalid("--body", rule));
            }
            (None, None) => text_of(std::io::stdin().lock(), "stdin")?,
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

fn text_of(source: impl Read, option: &str) -> Result<String, Error> {
    let bytes = bounded(source, BODY_BYTES_MAX);
    let bytes =
        bytes.map_err(|error| Error::invalid(option, format!("cannot be read: {error}")))?;
    if bytes.len() > BODY_BYTES_MAX {
        let rule = format!("must be at most {BODY_BYTES_MAX} bytes");
        return Err(Error::invalid(option, rule));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(option, "must be UTF-8"))
}

/// Reads one byte more than there may be, to know whether there are more.
fn bounded(source: impl Read, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(option: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::invalid(
        option,
        format!("`{}` cannot be read: {error}", path.display()),
    )
}
