//! What a command runs in: its options, its data directory, who acts, and the way to operations.

use std::path::PathBuf;

use comity_kernel::Error;
use comity_kernel::agent::AgentRef;
use comity_kernel::datadir::DataDir;
use comity_kernel::operation;
use comity_kernel::project::ProjectRef;
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::door::{Door, Tags};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::place;
use crate::who::{self, Who};

/// The options and the settings; nothing is opened yet.
pub(crate) struct Context<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) directory: PathBuf,
    pub(crate) config: Config,
    pub(crate) tags: Tags,
}

/// Somebody at a door.
pub(crate) struct Session<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) who: Who,
    pub(crate) door: Door,
}

impl<'a> Context<'a> {
    /// Finds the data directory and reads its settings.
    pub(crate) fn new(globals: &'a Globals) -> Result<Self, Error> {
        Self::at(place::data_directory(globals.data.as_deref())?, globals)
    }

    /// Reads the settings of a data directory.
    pub(crate) fn at(directory: PathBuf, globals: &'a Globals) -> Result<Self, Error> {
        let config = Config::load(&directory, globals.database.as_deref())?;
        Ok(Self {
            globals,
            directory,
            config,
            tags: Tags {
                key: globals.key.clone(),
                correlation: None,
            },
        })
    }

    /// Opens the door for whoever acts.
    pub(crate) fn session(&self) -> Result<Session<'a>, Failure> {
        self.session_as(who::choose(self.globals, &self.directory)?)
    }

    /// Opens the door for somebody.
    pub(crate) fn session_as(&self, who: Who) -> Result<Session<'a>, Failure> {
        Ok(Session {
            globals: self.globals,
            who,
            door: self.door()?,
        })
    }

    /// Opens the door.
    pub(crate) fn door(&self) -> Result<Door, Failure> {
        let data = DataDir::open(&self.directory)?;
        Door::open(self.globals, data, &self.config, self.tags.clone())
    }
}

impl Session<'_> {
    /// Calls an operation.
    pub(crate) fn call(&self, name: &str, request: &impl Serialize) -> Result<Value, Failure> {
        self.call_as(&self.who, name, request)
    }

    /// Calls an operation as somebody else.
    pub(crate) fn call_as(
        &self,
        who: &Who,
        name: &str,
        request: &impl Serialize,
    ) -> Result<Value, Failure> {
        let request = serde_json::to_value(request)?;
        self.door.call(who, operation::find(name)?, request)
    }

    /// Returns the project a request is about: the given one, or for the operator that of the
    /// current directory. A token says its own.
    pub(crate) fn project(&self) -> Result<Option<ProjectRef>, Error> {
        match (&self.globals.project, &self.who) {
            (Some(named), _) => place::named_project(named).map(Some),
            (None, Who::Operator) => place::reference(&place::current_project()?).map(Some),
            (None, Who::Token(_)) => Ok(None),
        }
    }

    /// Returns the project in which an agent is looked for; a number needs none.
    pub(crate) fn project_of(&self, agent: &AgentRef) -> Result<Option<ProjectRef>, Error> {
        match agent {
            AgentRef::Id(_) => self
                .globals
                .project
                .as_ref()
                .map(place::named_project)
                .transpose(),
            AgentRef::Name(_) => self.project(),
        }
    }
}
