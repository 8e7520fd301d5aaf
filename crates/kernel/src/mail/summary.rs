//! Sums a thread up.

use std::collections::BTreeSet;

use comity_domain::MessageId;
use comity_domain::limits::{PAGE_MAX, SUMMARY_MESSAGES_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Detail, Message};
use super::thread::{messages, thread_of};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Sums a thread up: who takes part, how much there is, what is open, the last word.
///
/// Of a thread of more than 5,000 messages, the first 5,000.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadSummary {
    /// The number of any message of the thread.
    pub id: MessageId,
}

/// A thread in short, as far as the caller may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SummedThread {
    /// The number of its first message.
    pub thread_id: MessageId,
    /// The subject of the first message.
    pub subject: String,
    /// Everybody who wrote or was written to.
    pub participants: BTreeSet<String>,
    /// How many messages there are.
    pub messages: usize,
    /// Acknowledgements that were asked for and not given.
    pub open_acks: Vec<OpenAck>,
    /// The newest message.
    pub last: Option<Message>,
}

/// An acknowledgement that was asked for and not given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenAck {
    /// The message.
    pub message_id: MessageId,
    /// Who was asked.
    pub agent: String,
}

impl Query for ThreadSummary {
    const NAME: &'static str = "thread_summary";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = SummedThread;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<SummedThread, Error> {
        let thread_id = thread_of(snapshot, actor, self.id)?;
        let mut summed = SummedThread {
            thread_id,
            subject: String::new(),
            participants: BTreeSet::new(),
            messages: 0,
            open_acks: Vec::new(),
            last: None,
        };
        let mut after = 0;
        while summed.messages < SUMMARY_MESSAGES_MAX {
            let part = (after, i64::from(PAGE_MAX));
            let page = messages(snapshot, actor, thread_id, part, Detail::Preview.chars())?;
            let Some(newest) = page.last() else { break };
            after = newest.id.get();
            for message in page {
                summed.add(actor, snapshot, message)?;
            }
        }
        Ok(summed)
    }
}

impl SummedThread {
    fn add(
        &mut self,
        actor: &Actor,
        snapshot: &mut Snapshot<'_>,
        mut message: Message,
    ) -> Result<(), Error> {
        let marks = table::marks(snapshot, &message)?;
        table::address(&mut message, &marks, actor);
        let named = [&message.to, &message.cc, &message.bcc];
        let named: BTreeSet<String> = named.into_iter().flatten().flatten().cloned().collect();
        if message.ack_required {
            let open = marks.iter().filter(|mark| mark.acked_at.is_none());
            let known = open.filter(|mark| named.contains(&mark.agent));
            self.open_acks.extend(known.map(|mark| OpenAck {
                message_id: message.id,
                agent: mark.agent.clone(),
            }));
        }
        self.participants.extend(named);
        self.participants.insert(message.from.clone());
        self.messages += 1;
        if self.messages == 1 {
            self.subject.clone_from(&message.subject);
        }
        self.last = Some(table::shown(snapshot, actor, message, Detail::Preview)?);
        Ok(())
    }
}
