//! Answers a request for contact.

use comity_domain::{ContactId, LeaseTime, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ContactAnswered;
use super::table::{self, Contact};
use crate::actor::{Actor, Party};
use crate::agent::table as agent_table;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::tx::{Read, WriteTx};

/// Approves or refuses a sender; the operator may for any agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerContact {
    /// The contact's number.
    pub id: ContactId,
    /// `approve` or `refuse`.
    pub answer: Verdict,
    /// Until when the approval holds; for good unless given.
    #[serde(default)]
    pub until: Option<Timestamp>,
}

/// An answer to a request for contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The sender may write.
    Approve,
    /// It may not.
    Refuse,
}

/// The contact as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredContact {
    /// The contact.
    pub contact: Contact,
}

impl Command for AnswerContact {
    const NAME: &'static str = "answer_contact";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = AnsweredContact;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AnsweredContact, Stop> {
        let unknown = || Error::not_found("contact", &self.id);
        let before = table::by_id(tx, self.id)?.ok_or_else(unknown)?;
        if let Actor::Agent { agent, .. } = tx.actor()
            && *agent != before.agent_id
        {
            return Err(unknown().into());
        }
        let agent = agent_table::by_id(tx, before.agent_id)?.ok_or_else(unknown)?;
        let now = tx.now();
        if self.answer == Verdict::Refuse && self.until.is_some() {
            return Err(Error::invalid("until", "goes with an approval only").into());
        }
        let left_us = self.until.map(|until| until.micros() - now.at.micros());
        if left_us.is_some_and(|left| left <= 0) {
            return Err(Error::invalid("until", "must be in the future").into());
        }
        let until_lease = left_us.map(|left| now.lease.micros().saturating_add(left));
        tx.emit(ContactAnswered {
            id: self.id,
            project: agent.project_id,
            agent: before.agent_id,
            sender: before.sender_id,
            approved: self.answer == Verdict::Approve,
            until: self.until,
            until_lease: until_lease.map(LeaseTime::from_micros),
        })?;
        let contact = table::by_id(tx, self.id)?
            .ok_or_else(|| Error::internal(Impossible("a contact vanished as it was answered")))?;
        Ok(AnsweredContact { contact })
    }
}
