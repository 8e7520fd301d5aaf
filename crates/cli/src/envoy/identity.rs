//! Whom an envoy speaks for, and how it gets to.

use comity_domain::{AgentId, AgentName, TokenSecret};
use comity_kernel::Error;
use comity_kernel::agent::UpdateAgent;
use comity_server::mcp::{Join, McpCaller};
use serde_json::Value;

use super::Mission;
use crate::door::Tags;
use crate::failure::Failure;
use crate::joining::{self, Joined, Papers};
use crate::place;
use crate::session::Context;
use crate::token_file::{self, TokenFile};
use crate::who::Who;

/// Whom an envoy speaks for.
pub(super) enum Identity {
    /// Nobody has joined yet.
    Nobody,
    /// The agent whose token the environment holds.
    Given(TokenSecret),
    /// The agent of a token file, read for each call: the token may be rotated meanwhile.
    Kept(TokenFile),
}

impl Identity {
    /// Takes the identity of the agent that joined.
    pub(super) fn is_now(&mut self, file: Option<&TokenFile>) {
        if let Some(file) = file {
            *self = Self::Kept(file.clone());
        }
    }

    /// Returns the credential.
    pub(super) fn who(&self) -> Result<Who, Failure> {
        match self {
            Self::Nobody => Err(not_joined()),
            Self::Given(token) => Ok(Who::Token(token.clone())),
            Self::Kept(file) => Ok(Who::Token(token_file::read(&file.path)?)),
        }
    }
}

impl Mission {
    /// Registers or resumes an agent.
    ///
    /// The calls carry no idempotency key: the operator's credential is that of every agent here,
    /// whose keys may be the same, and joining again is the same agent anyway.
    pub(super) fn enter(
        &self,
        identity: &Identity,
        caller: &McpCaller,
        join: &Join,
    ) -> Result<Joined, Failure> {
        caller.idempotency_key()?;
        let tags = Tags {
            key: None,
            correlation: caller.trace(),
        };
        let globals = self.globals_in(join.project.clone());
        let context = self.context(&globals, tags)?;
        self.insist(|| {
            let papers = self.papers(identity, caller, join)?;
            self.present(&context, identity, papers)
        })
    }

    /// Presents what an agent says of itself to whoever can let it in.
    fn present(
        &self,
        context: &Context<'_>,
        identity: &Identity,
        papers: Papers,
    ) -> Result<Joined, Failure> {
        if let Identity::Given(token) = identity {
            let session = context.session_as(Who::Token(token.clone()))?;
            return joining::come_back(&session, None, papers);
        }
        if self.can_admit() {
            return joining::admit(context, papers);
        }
        if papers.registration.name.is_none() && papers.present.is_none() {
            let reason = "without the operator's token nobody new can register here: say the `name` of an agent whose token is here";
            return Err(Error::Forbidden {
                reason: reason.to_owned(),
            }
            .into());
        }
        joining::resume(context, papers)
    }

    fn papers(
        &self,
        identity: &Identity,
        caller: &McpCaller,
        join: &Join,
    ) -> Result<Papers, Failure> {
        let join = Join {
            name: self.name_for(join.name.as_ref())?,
            ..join.clone()
        };
        let (project, present) = match identity {
            Identity::Nobody => (None, None),
            Identity::Kept(file) => (None, Some(file.clone())),
            // A token says its project; another one is refused where it is looked up (E5).
            Identity::Given(_) => {
                let named = join.project.as_ref().map(place::named_project);
                (named.transpose()?, None)
            }
        };
        Ok(Papers {
            change: UpdateAgent {
                project,
                ..join.clone().resumption(AgentId::new(0))
            },
            registration: join.registration(caller, None)?,
            present,
        })
    }

    /// Returns the name to get in by: whoever was sent under a name has no other.
    fn name_for(&self, asked: Option<&AgentName>) -> Result<Option<AgentName>, Error> {
        match (&self.name, asked) {
            (Some(own), Some(asked)) if !own.eq_ignore_ascii_case(asked) => Err(Error::Forbidden {
                reason: format!("this connection is that of `{own}`, not of `{asked}`"),
            }),
            (Some(own), _) => Ok(Some(own.clone())),
            (None, asked) => Ok(asked.cloned()),
        }
    }
}

/// Refuses a call before anybody joined, and says what comes first.
fn not_joined() -> Failure {
    let mut failure = Failure::from(Error::Unauthorized);
    if let Value::Object(body) = &mut failure.body {
        body.insert(
            "message".to_owned(),
            "nobody has joined on this connection yet".into(),
        );
        body.insert(
            "hint".to_owned(),
            "call `join` first, and then this again".into(),
        );
    }
    failure
}
