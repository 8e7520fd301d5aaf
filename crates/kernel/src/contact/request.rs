//! Asks whether one may write to an agent.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Address, AgentId, Prose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ContactRequested;
use super::table::{self, Contact};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::mail::find_agent;
use crate::tx::WriteTx;

/// Asks an agent whether you may write to it; one that is approved already stays as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestContact {
    /// The agent, as you would write to it: a name, `name@project`, or a number.
    pub agent: Address,
    /// Why.
    #[serde(default)]
    pub reason: Option<Prose<TASK_BYTES_MAX>>,
}

/// The contact as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedContact {
    /// The contact.
    pub contact: Contact,
}

impl Command for RequestContact {
    const NAME: &'static str = "request_contact";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = RequestedContact;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RequestedContact, Stop> {
        let Actor::Agent {
            agent: sender,
            project,
            ..
        } = *tx.actor()
        else {
            return Err(Error::Forbidden {
                reason: "only an agent asks for contact; operators write to everybody".to_owned(),
            }
            .into());
        };
        let agent: AgentId = find_agent(tx, project, &self.agent)?;
        if agent == sender {
            return Err(Error::invalid("agent", "must be another agent").into());
        }
        if !table::is_approved(tx, agent, sender)? {
            let id = match table::between(tx, agent, sender)? {
                Some(id) => id,
                None => table::next_id(tx)?,
            };
            tx.emit(ContactRequested {
                id,
                project,
                agent,
                sender,
                reason: self.reason.as_deref().unwrap_or_default().to_owned(),
            })?;
        }
        let contact = match table::between(tx, agent, sender)? {
            Some(id) => table::by_id(tx, id)?,
            None => None,
        };
        let contact = contact
            .ok_or_else(|| Error::internal(Impossible("a contact vanished as it was made")))?;
        Ok(RequestedContact { contact })
    }
}
