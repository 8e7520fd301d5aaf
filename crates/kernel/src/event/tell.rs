//! What happened, in a sentence for people, and by whose hand.

use comity_domain::AgentId;

use crate::agent::table as agent_table;
use crate::log::Event;
use crate::run::tell::tell as tell_work;
use crate::store::StoreError;
use crate::tx::Read;

/// Tells an event; nothing where there is no sentence for it.
///
/// A sentence holds only what everybody sees who sees the event at all.
pub fn tell(event: &Event) -> String {
    match event {
        Event::ProjectCreated(one) => format!("project {} began: {}", one.id, one.slug),
        Event::ProjectUpdated(one) => format!("project {} updated", one.id),
        Event::AgentRegistered(one) => format!("agent {} registered: {}", one.id, one.name),
        Event::AgentUpdated(one) => format!("agent {} updated", one.id),
        Event::AgentRetired(one) => format!("agent {} retired", one.id),
        Event::TokenCreated(one) => format!("token {} made", one.id),
        Event::TokenRevoked(one) => format!("token {} revoked", one.id),
        Event::MessageSent(one) => format!("message {} sent: {}", one.id, one.subject),
        Event::MessageRead(one) => format!("message {} read", one.id),
        Event::MessageAcknowledged(one) => format!("message {} acknowledged", one.id),
        Event::ContactRequested(one) => {
            format!("agent {} wants to write to {}", one.sender, one.agent)
        }
        Event::ContactAnswered(one) => format!("contact {} answered", one.id),
        Event::LeaseRenewed(_)
        | Event::LeaseReleased(_)
        | Event::LeaseForced(_)
        | Event::LeaseRetired(_)
        | Event::LeaseExpired(_) => tell_lease(event),
        Event::ReleaseRequested(one) => format!("release {} asked for", one.id),
        Event::ReleaseAnswered(one) => format!("release {} answered", one.id),
        Event::SentinelClaimed(one) => format!("sentinel {} claimed", one.name),
        Event::SentinelReset(one) => format!("sentinel {} reset", one.id),
        Event::EpochBegun(one) => format!("epoch {} began", one.epoch),
        Event::ConsumerRegistered(one) => {
            format!(
                "consumer {} registered, generation {}",
                one.name, one.generation
            )
        }
        Event::ConsumerReset(one) => {
            format!(
                "consumer {} moved behind {}, generation {}",
                one.name, one.since, one.generation
            )
        }
        Event::ConsumerExpired(one) => format!("consumer {} is gone", one.name),
        Event::CustomAppended(one) => {
            format!("{} {}: {}", one.stream, one.version, one.kind)
        }
        other => tell_work(other),
    }
}

fn tell_lease(event: &Event) -> String {
    let how = match event {
        Event::LeaseRenewed(_) => "renewed",
        Event::LeaseReleased(_) => "released",
        Event::LeaseForced(_) => "forced",
        Event::LeaseRetired(_) => "ended with its holder",
        _ => "expired",
    };
    format!("lease {} {how}", event.inner().subject().id)
}

/// Returns the name of whoever the log names.
pub fn who(read: &mut impl Read, actor: &str) -> Result<String, StoreError> {
    let (word, number) = actor.split_once(':').unwrap_or((actor, ""));
    let id = number.parse().ok().filter(|_| word == "agent");
    let agent = match id {
        Some(id) => agent_table::by_id(read, AgentId::new(id))?,
        None => None,
    };
    Ok(agent.map_or_else(|| word.to_owned(), |agent| agent.name))
}
