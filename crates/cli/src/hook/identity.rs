//! Who is about to edit: the agent of the client program, never the operator.

use std::path::Path;

use comity_domain::TokenSecret;
use comity_kernel::Error;

use crate::globals::Globals;
use crate::token_file::{self, TokenFile};
use crate::who;

/// The agent that a client program works for.
pub(super) struct Identity {
    /// Its token.
    pub(super) token: TokenSecret,
    /// Where it lies, if it lies here: the file says the agent's name and project.
    pub(super) file: Option<TokenFile>,
}

impl Identity {
    /// Finds the agent that the options or the environment name.
    pub(super) fn of(globals: &Globals, directory: &Path) -> Result<Self, Error> {
        if globals.operator {
            let rule = "does not go with a hook: it acts as its agent";
            return Err(Error::invalid("--operator", rule));
        }
        if let Some(name) = who::named(globals)? {
            let file = who::file_of(&name, globals.project.as_ref(), directory)?;
            let token = token_file::read(&file.path)?;
            let file = Some(file);
            return Ok(Self { token, file });
        }
        let Some(token) = who::token_given()? else {
            let reason = "no agent is named: set `COMITY_AS`, or say `--as AGENT`";
            return Err(Error::Forbidden {
                reason: reason.to_owned(),
            });
        };
        let file = token_file::of_token(directory, &token);
        Ok(Self { token, file })
    }
}
