//! Presence: who was heard of lately; in memory, flushed now and then, off the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_domain::limits::{PRESENCE_FLUSH_MAX, PRESENCE_FLUSH_US, PRESENCE_MAX};
use comity_domain::{AgentId, Timestamp};

use crate::ambient::{Clock, Reading};
use crate::options::Sharing;
use crate::params;
use crate::store::job::Upkeep;
use crate::store::{Rows, StoreError};
use crate::tx::{Read, UpkeepTx};

/// What is known of one agent's last sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The wall time of it.
    pub at: Timestamp,
    /// What the agent says it is.
    pub status: Option<String>,
    /// What the agent says it works on.
    pub focus: Option<String>,
    tick_us: i64,
    flushed_tick_us: Option<i64>,
    /// Whether it said what it is at since the last flush.
    told: bool,
}

/// The presence of all agents this process has heard of.
pub struct Presence {
    agents: Mutex<HashMap<AgentId, Seen>>,
    clock: Option<Arc<dyn Clock>>,
    started: Timestamp,
    started_tick_us: i64,
}

/// Nobody was heard of: for databases that are looked at and not served.
impl Default for Presence {
    fn default() -> Self {
        Self {
            agents: Mutex::default(),
            clock: None,
            started: Timestamp::from_micros(i64::MIN),
            started_tick_us: 0,
        }
    }
}

impl Presence {
    /// Begins to listen.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let reading = clock.read(None);
        Self {
            started: reading.wall,
            started_tick_us: reading.tick_us,
            agents: Mutex::default(),
            clock: Some(clock),
        }
    }

    /// Returns since when somebody could have been heard of: unknown before that counts as then.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// Tells whether this process has heard of an agent.
    pub(crate) fn knows(&self, agent: AgentId) -> bool {
        self.lock().contains_key(&agent)
    }

    /// Notes that a sign of life is in the table, and how old it is: the next need not be written at
    /// once.
    pub(crate) fn is_stored(&self, agent: AgentId, ago_us: i64) {
        if let Some(seen) = self.lock().get_mut(&agent) {
            seen.flushed_tick_us = Some(seen.tick_us - ago_us);
        }
    }

    /// Notes a sign of life; `status` and `focus` stay as they were unless given.
    pub(crate) fn touch(&self, agent: AgentId, status: Option<String>, focus: Option<String>) {
        let Some(reading) = self.clock.as_ref().map(|clock| clock.read(None)) else {
            return;
        };
        let mut agents = self.lock();
        if agents.len() >= PRESENCE_MAX && !agents.contains_key(&agent) {
            return;
        }
        let seen = agents.entry(agent).or_insert(Seen {
            at: reading.wall,
            status: None,
            focus: None,
            tick_us: reading.tick_us,
            flushed_tick_us: None,
            told: false,
        });
        seen.at = reading.wall;
        seen.tick_us = reading.tick_us;
        seen.told |= status.is_some() || focus.is_some();
        seen.status = status.or(seen.status.take());
        seen.focus = focus.or(seen.focus.take());
    }

    /// Returns what this process has heard of an agent.
    pub fn of(&self, agent: AgentId) -> Option<Seen> {
        self.lock().get(&agent).cloned()
    }

    /// Returns for how long this process has not heard of an agent, since its start at the most.
    pub(crate) fn silence_us(&self, agent: AgentId) -> Option<i64> {
        let now_us = self.clock.as_ref()?.read(None).tick_us;
        let heard_us = self.lock().get(&agent).map(|seen| seen.tick_us);
        Some(now_us - heard_us.unwrap_or(self.started_tick_us))
    }

    /// Takes what must be written: signs of life since the last flush, at most one per 10 s each.
    pub(crate) fn due(&self, reading: &Reading, all: Urgency) -> FlushPresence {
        let due = |seen: &Seen| {
            let Some(flushed) = seen.flushed_tick_us else {
                return true;
            };
            let is_old = reading.tick_us - flushed >= PRESENCE_FLUSH_US;
            flushed < seen.tick_us
                && match all {
                    Urgency::WhenDue => is_old,
                    Urgency::WhenDueOrTold => is_old || seen.told,
                    Urgency::Now => true,
                }
        };
        let mut agents = self.lock();
        let mut rows: Vec<_> = agents
            .iter_mut()
            .filter(|(_, seen)| due(seen))
            .take(PRESENCE_FLUSH_MAX)
            .map(|(agent, seen)| {
                seen.flushed_tick_us = Some(reading.tick_us);
                seen.told = false;
                (*agent, seen.clone())
            })
            .collect();
        rows.sort_by_key(|(agent, _)| *agent);
        FlushPresence {
            rows,
            tick_us: reading.tick_us,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Seen>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a flush respects the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Only what was not flushed for a while.
    WhenDue,
    /// That, and what an agent says it is at: nobody remembers it afterwards.
    WhenDueOrTold,
    /// Everything: the kernel stops.
    Now,
}

impl Urgency {
    /// Tells what is written when a kernel stops. Of many short ones in a row each would write what the
    /// last one wrote.
    pub(crate) const fn at_the_end(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Alone => Self::Now,
            Sharing::Shared => Self::WhenDueOrTold,
        }
    }
}

/// Writes signs of life to their table.
pub(crate) struct FlushPresence {
    rows: Vec<(AgentId, Seen)>,
    tick_us: i64,
}

impl FlushPresence {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Upkeep for FlushPresence {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        for (agent, seen) in &self.rows {
            let ago_us = self.tick_us.saturating_sub(seen.tick_us).max(0);
            let lease_us = tx.now().lease.micros() - ago_us;
            // Of an agent registered in a transaction that was undone there is no row to refer to.
            tx.write(
                "insert into presence (agent_id, seen_at, seen_lease_us, status, focus)
                 select id, ?2, ?3, coalesce(cast(?4 as text), ''), coalesce(cast(?5 as text), '')
                 from agent where id = ?1
                 on conflict (agent_id) do update
                 set seen_at = excluded.seen_at, seen_lease_us = excluded.seen_lease_us,
                     status = coalesce(cast(?4 as text), presence.status),
                     focus = coalesce(cast(?5 as text), presence.focus)
                 where presence.seen_lease_us <= excluded.seen_lease_us",
                params![
                    *agent,
                    seen.at,
                    lease_us,
                    seen.status.as_deref(),
                    seen.focus.as_deref(),
                ],
                Rows::Any,
            )?;
        }
        Ok(())
    }
}
