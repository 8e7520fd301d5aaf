//! `comity mail attach` and `comity mail fetch`.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use comity_domain::Sha256Hex;
use comity_kernel::mail::GetAttachment;
use comity_kernel::mail::attachment::Base64;
use comity_kernel::{Error, Query as _};
use serde_json::{Value, json};

use super::content::put;
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View};

/// Keeps a file.
#[derive(Args)]
pub(crate) struct Attach {
    /// The file.
    file: PathBuf,
}

/// Fetches what a message carries.
#[derive(Args)]
#[command(after_help = "Example: comity mail fetch 9f86d0…0f00a08 -o report.pdf")]
pub(crate) struct Fetch {
    /// The SHA-256 of the bytes, as `mail show` tells it.
    #[arg(value_parser = text::<Sha256Hex>)]
    sha256: Sha256Hex,
    /// A new file for the bytes; without one they go to stdout, unless that is a terminal.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Attach {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let answer = put(&context.session()?, &self.file, "FILE")?;
        let sha256 = answer.pointer("/attachment/sha256").and_then(Value::as_str);
        let text = sha256.unwrap_or_default().to_owned();
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Fetch {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Option<Shown>, Failure> {
        let form = Form::of(context.globals);
        let to_stdout = self.output.is_none() && form == Form::People;
        if to_stdout && std::io::stdout().is_terminal() {
            let rule = "must be given: bytes on a terminal help nobody";
            return Err(Error::invalid("--output", rule).into());
        }
        let request = GetAttachment {
            sha256: self.sha256,
        };
        let answer = context.session()?.call(GetAttachment::NAME, &request)?;
        let base64 = answer.get("content").cloned().unwrap_or_default();
        let fetched: Base64 = serde_json::from_value(base64.clone())?;
        let bytes = fetched.bytes();
        if let Some(path) = &self.output {
            write_new(path, bytes)?;
            let shown = path.display();
            let text = format!("wrote {} bytes to {shown}", bytes.len());
            let answer = json!({ "sha256": self.sha256, "bytes": bytes.len(), "file": path });
            return Ok(Some(Shown::new(answer, View::Text(text))));
        }
        if to_stdout {
            output::bytes(bytes)?;
            return Ok(None);
        }
        let answer = json!({ "sha256": self.sha256, "bytes": bytes.len(), "content": base64 });
        Ok(Some(Shown::new(answer, View::Json)))
    }
}

/// Writes a file that is not there yet, whole or not at all.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let shown = path.display();
    let unusable = |error: std::io::Error| Error::Unusable {
        what: format!("`{shown}` cannot be written: {error}"),
    };
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::invalid("--output", format!("must not exist, and `{shown}` does"))
        }
        _ => unusable(error),
    })?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Half a file would be taken for the whole.
        let _ = std::fs::remove_file(path);
        unusable(error)
    })
}
