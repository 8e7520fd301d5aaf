//! Tells who presents a token.

use comity_domain::{Role, TokenSecret};

use super::table;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Asks who presents a token; unknown, wrong and revoked ones look the same (S19).
pub struct Authenticate {
    /// The token as presented.
    pub secret: TokenSecret,
}

impl Query for Authenticate {
    const NAME: &'static str = "authenticate";
    const WHO: &'static [Party] = &[];
    type Answer = Actor;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Actor, Error> {
        actor_of(&self.secret, snapshot)
    }
}

/// Finds the actor of a token by its public half and compares the hash in constant time.
fn actor_of(secret: &TokenSecret, snapshot: &mut Snapshot<'_>) -> Result<Actor, Error> {
    let presented = table::presented(snapshot, secret.id())?
        .filter(|presented| presented.hash.matches(&secret.hash()))
        .ok_or(Error::Unauthorized)?;
    let token = secret.id();
    match (presented.role, presented.agent, presented.project) {
        (Role::Operator, _, _) => Ok(Actor::Operator { token: Some(token) }),
        (Role::Observer, _, project) => Ok(Actor::Observer { token, project }),
        (Role::Agent, Some(agent), Some(project)) => Ok(Actor::Agent {
            agent,
            project,
            token,
            orchestrate: presented.orchestrate,
        }),
        (Role::Agent, _, _) => Err(Error::Unauthorized),
    }
}
