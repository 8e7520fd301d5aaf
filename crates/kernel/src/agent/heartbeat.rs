//! A sign of life; it lives in memory and is off the log.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{AgentId, Line, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, AgentRef};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Says that the agent lives, and what it is at.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The agent's name or number: the caller's own, or left out.
    #[serde(default)]
    pub agent: Option<AgentRef>,
    /// How it is doing, such as `working` or `waiting`.
    #[serde(default)]
    pub status: Option<Line<LABEL_BYTES_MAX>>,
    /// What it works on.
    #[serde(default)]
    pub focus: Option<Line<LABEL_BYTES_MAX>>,
}

/// When the sign of life was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Heard {
    /// The wall time.
    pub last_seen: Timestamp,
}

/// It changes memory only, so it is a query: its credential is checked like any other's.
impl Query for Heartbeat {
    const NAME: &'static str = "heartbeat";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = Heard;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Heard, Error> {
        if let Actor::Agent { agent, .. } = actor {
            if let Some(named) = &self.agent {
                must_be_own(snapshot, actor, *agent, named)?;
            }
            let text =
                |line: &Option<Line<LABEL_BYTES_MAX>>| line.as_deref().map(ToOwned::to_owned);
            let presence = snapshot.presence();
            presence.touch(*agent, text(&self.status), text(&self.focus));
        }
        Ok(Heard {
            last_seen: snapshot.now().at,
        })
    }
}

/// Refuses a sign of life of somebody else (E5).
fn must_be_own(
    snapshot: &mut Snapshot<'_>,
    actor: &Actor,
    own: AgentId,
    named: &AgentRef,
) -> Result<(), Error> {
    let named = table::resolve(snapshot, actor, None, named)?;
    if named.id == own {
        return Ok(());
    }
    Err(Error::Forbidden {
        reason: format!("the credential is not that of `{}`", named.name),
    })
}
