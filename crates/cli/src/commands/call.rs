//! `comity call OPERATION JSON`.

use std::io::Read as _;

use clap::Args;
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use comity_domain::json;
use comity_kernel::Error;
use comity_kernel::operation::{self, OPERATIONS, Operation};
use serde_json::Value;

use crate::failure::Failure;
use crate::place;
use crate::session::{Context, Session};
use crate::show::{Shown, View};

/// The largest request.
const BYTES_MAX: u64 = 1 << 20;

/// Calls any operation by name.
#[derive(Args)]
pub(crate) struct Call {
    /// The operation, such as `list_agents`.
    #[arg(add = ArgValueCandidates::new(names))]
    operation: String,
    /// The request as JSON; `-` reads it from stdin.
    #[arg(default_value = "{}")]
    request: String,
}

impl Call {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let operation = operation::find(&self.operation)?;
        let mut request = match self.request.as_str() {
            "-" => json::parse(&read_stdin()?)?,
            text => json::parse(text.as_bytes())?,
        };
        let session = context.session()?;
        add_project(&mut request, operation, &session)?;
        let answer = session.door.call(&session.who, operation, request)?;
        Ok(Shown::new(answer, View::Json))
    }
}

/// Adds `--project` where the request leaves it out; nothing else is assumed here.
fn add_project(
    request: &mut Value,
    operation: &Operation,
    session: &Session<'_>,
) -> Result<(), Error> {
    if let (Some(project), Value::Object(request)) = (&session.globals.project, request)
        && operation.schemas().field("project").is_some()
        && !request.contains_key("project")
    {
        let project = place::named_project(project)?;
        request.insert("project".to_owned(), serde_json::to_value(project)?);
    }
    Ok(())
}

fn names() -> Vec<CompletionCandidate> {
    let names = OPERATIONS.iter().map(|operation| operation.name);
    names.map(CompletionCandidate::new).collect()
}

fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::NotJson {
            reason: error.to_string(),
        })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Error::TooLarge {
            bytes_max: BYTES_MAX,
        });
    }
    Ok(bytes)
}
