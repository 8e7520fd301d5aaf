//! `comity init`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use comity_kernel::datadir::DataDir;
use comity_kernel::project::EnsureProject;
use comity_kernel::{Command as _, Error};
use serde_json::Value;

use crate::failure::Failure;
use crate::globals::Globals;
use crate::session::Context;
use crate::show::{Shown, View, harmless};
use crate::who::{self, Who};
use crate::{config, place};

const NEXT: &str = "next
  comity join --name NAME   register an agent in this project
  comity serve              serve it to agents, over HTTP and MCP
  comity                    see the fleet";

/// Makes a data directory.
#[derive(Args)]
pub(crate) struct Init {}

impl Init {
    pub(crate) fn run(&self, globals: &Globals) -> Result<Shown, Failure> {
        let Self {} = self;
        let key = place::current_project()?;
        let directory = match &globals.data {
            Some(given) => given.clone(),
            None => PathBuf::from(&*key).join(place::DIRECTORY),
        };
        if !matches!(who::choose(globals, &directory)?, Who::Operator) {
            let reason = "only the operator makes a data directory".to_owned();
            return Err(Error::Forbidden { reason }.into());
        }
        DataDir::open(&directory)?;
        write_new(&directory.join(config::FILE), config::TEMPLATE)?;
        write_new(&directory.join(".gitignore"), "*\n")?;
        let session = Context::at(directory.clone(), globals)?.session_as(Who::Operator)?;
        let request = EnsureProject { key, name: None };
        let mut answer = session.call(EnsureProject::NAME, &request)?;
        let slug = answer.pointer("/project/slug").and_then(Value::as_str);
        let slug = harmless(slug.unwrap_or_default()).into_owned();
        if let Value::Object(answer) = &mut answer {
            answer.insert("data".to_owned(), serde_json::to_value(&directory)?);
        }
        let shown = directory.display();
        let text = format!("project  {slug}\ndata     {shown}\n{NEXT}");
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Writes a file unless there is one: what a person put there stays.
fn write_new(path: &Path, content: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    let written = match made {
        Ok(mut file) => file.write_all(content.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    };
    written.map_err(|error| {
        Failure::unusable(format!("`{}` cannot be written: {error}", path.display()))
    })
}
