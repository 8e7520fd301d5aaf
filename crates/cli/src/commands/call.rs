//! `comity call OPERATION JSON`.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use clap::Args;
use comity_domain::{AgentName, json};
use comity_kernel::actor::{Actor, Caller, IdempotencyKey};
use comity_kernel::command::Issued;
use comity_kernel::datadir::DataDir;
use comity_kernel::{Error, Kernel, operation};

use crate::output;
use crate::place::Place;

/// Calls any operation by name.
#[derive(Args)]
pub(crate) struct Call {
    /// The operation, such as `list_agents`.
    operation: String,
    /// The request as JSON; `-` reads it from stdin.
    #[arg(default_value = "{}")]
    request: String,
    /// Act as this agent, with the token in its file.
    #[arg(long = "as", value_name = "AGENT", conflicts_with = "operator", value_parser = AgentName::parse)]
    agent: Option<AgentName>,
    /// Act as the operator, by right of the data directory.
    #[arg(long)]
    operator: bool,
    /// An idempotency key: repeated with it, the call takes effect once.
    #[arg(long, value_name = "IDEMPOTENCY")]
    key: Option<String>,
}

impl Call {
    pub(crate) fn run(&self, place: &Place) -> Result<(), Error> {
        let operation = operation::find(&self.operation)?;
        let request = match self.request.as_str() {
            "-" => json::parse(&read_stdin()?)?,
            text => json::parse(text.as_bytes())?,
        };
        let embedded = place.embedded()?;
        let caller = self.caller(&embedded.kernel, &embedded.data)?;
        let answer = (operation.call)(&embedded.kernel, caller, request);
        let outcome = runtime()?.block_on(answer)?;
        let mut answer = outcome.answer;
        if let (Some(issued), Some(object)) = (outcome.issued, answer.as_object_mut()) {
            let file = keep(&issued, &embedded.data).map_err(|error| Error::Unusable {
                what: format!(
                    "it is done, but its token was not kept: {error}; `rotate_token` or `create_token` makes another"
                ),
            })?;
            object.insert("token_file".to_owned(), serde_json::to_value(file)?);
        }
        output::answer(&answer);
        Ok(())
    }

    fn caller(&self, kernel: &Kernel, data: &DataDir) -> Result<Caller, Error> {
        let token = match &self.agent {
            Some(agent) => Some(token_of(agent, data)?),
            None if self.operator => None,
            None => std::env::var("COMITY_TOKEN").ok(),
        };
        let actor = match token {
            Some(token) => kernel.authenticate(token.trim()).wait()?.answer,
            None if self.operator || std::io::stdin().is_terminal() => Actor::OPERATOR,
            None => {
                return Err(Error::Forbidden {
                    reason: "nobody is named: say `--as AGENT`, or `--operator` to act as the person who owns this directory".to_owned(),
                });
            }
        };
        let mut caller = Caller::from(actor);
        if let Some(key) = &self.key {
            let key = IdempotencyKey::parse(key).map_err(|rule| Error::invalid("--key", rule))?;
            caller = caller.with_key(key);
        }
        Ok(caller)
    }
}

/// Reads an agent's token from its file, whichever project it is in.
fn token_of(agent: &AgentName, data: &DataDir) -> Result<String, Error> {
    let wanted = format!("{}.token", agent.folded());
    let file_name = |path: &PathBuf| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase()
    };
    let files = |directory: PathBuf| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut found = files(data.path().join("agents"))
        .into_iter()
        .flat_map(files)
        .filter(|path| file_name(path) == wanted);
    match (found.next(), found.next()) {
        (Some(only), None) => std::fs::read_to_string(&only).map_err(|error| Error::Unusable {
            what: format!("`{}` cannot be read: {error}", only.display()),
        }),
        (None, _) => Err(Error::not_found("token file of agent", agent)),
        (Some(_), Some(_)) => Err(Error::Forbidden {
            reason: format!("several projects have an agent `{agent}`: set COMITY_TOKEN instead"),
        }),
    }
}

/// Puts a new token into its owner's file, so that it never shows in a transcript (S18).
fn keep(issued: &Issued, data: &DataDir) -> Result<PathBuf, Error> {
    let name = match &issued.agent {
        Some((project, agent)) => format!("agents/{project}/{agent}.token"),
        None => format!("tokens/{}.token", issued.secret.id()),
    };
    data.write_private(name.as_ref(), &format!("{}\n", issued.secret.reveal()))
}

fn read_stdin() -> Result<Vec<u8>, Error> {
    /// The largest request.
    const BYTES_MAX: u64 = 1 << 20;
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

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::internal)
}
