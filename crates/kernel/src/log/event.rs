//! Everything that can happen, and how each event changes the tables.

use comity_domain::{CustomKind, ProjectId, RunId, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::agent::event::{AgentRegistered, AgentRetired, AgentUpdated};
use crate::checkpoint::event::LogPruned;
use crate::consumer::event::{ConsumerExpired, ConsumerRegistered, ConsumerReset};
use crate::contact::event::{ContactAnswered, ContactRequested};
use crate::discovery::event::{
    DiscoveryDecayed, DiscoveryDismissed, DiscoveryEmbedded, DiscoveryPromoted, DiscoveryScored,
    DiscoverySubmitted, FeedbackGiven, InterestProfileUpdated,
};
use crate::dispatch::event::{
    DispatchCancelled, DispatchClaimed, DispatchCreated, DispatchExtended, DispatchFinished,
    DispatchReported, DispatchReturned, DispatchStarted, DispatchTimedOut,
};
use crate::epoch::event::EpochBegun;
use crate::hook::event::{HookAdded, HookRemoved};
use crate::mail::event::{MessageAcknowledged, MessageRead, MessageSent};
use crate::project::event::{ProjectCreated, ProjectUpdated};
use crate::redaction::Redacted;
use crate::redaction::event::EventRedacted;
use crate::reservation::event::{
    FilesReserved, LeaseExpired, LeaseForced, LeaseReleased, LeaseRenewed, LeaseRetired,
    LockAcquired, ReleaseAnswered, ReleaseRequested,
};
use crate::run::event::{
    ArtifactAdded, ArtifactWithdrawn, GateOverridden, GateRefused, PhaseApproved, PhaseSkipped,
    RunAdvanced, RunAgentAdded, RunAgentFinished, RunCancelled, RunCreated, RunFailed, RunPaused,
    RunResumed, RunRolledBack, RunUpdated, RunsLinked, RunsUnlinked, VerdictRecorded,
};
use crate::sentinel::event::{SentinelClaimed, SentinelReset};
use crate::state::event::{StateCleared, StateDeleted, StateExpired, StateSaved};
use crate::store::{Param, Row, Rows, Session, StoreError};
use crate::stream::event::CustomAppended;
use crate::token::event::{TokenCreated, TokenRevoked};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: SubjectKind,
    /// Its id.
    pub id: i64,
}

macro_rules! subjects {
    ($($(#[$doc:meta])* $kind:ident = $word:literal),+ $(,)?) => {
        /// The kinds of entity that have events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SubjectKind {
            $($(#[$doc])* #[serde(rename = $word)] $kind),+
        }

        impl SubjectKind {
            /// Every kind: each has a table of its name whose `revision` counts its events (C1),
            /// but a lease, whose fence says all: it is granted once and ends once.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Returns the word in the log.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $word),+ }
            }
        }
    };
}

subjects! {
    /// A project.
    Project = "project",
    /// An agent.
    Agent = "agent",
    /// A token.
    Token = "token",
    /// A message.
    Message = "message",
    /// A contact.
    Contact = "contact",
    /// A lease on files, or a named lock.
    Reservation = "reservation",
    /// A request to release a lease.
    ReleaseRequest = "release_request",
    /// A sentinel.
    Sentinel = "sentinel",
    /// A scope of state.
    StateScope = "state_scope",
    /// A run.
    Run = "run",
    /// A dispatch.
    Dispatch = "dispatch",
    /// A hook.
    Hook = "hook",
    /// A discovery.
    Discovery = "discovery",
    /// What a project is interested in; its number is the project's.
    InterestProfile = "interest_profile",
    /// An epoch of the log.
    Epoch = "epoch",
    /// A stream of the callers' own.
    Stream = "stream",
    /// A consumer of the log.
    Consumer = "consumer",
    /// An event that was redacted.
    Redaction = "redaction",
    /// A place up to which the log was pruned.
    Checkpoint = "checkpoint",
}

/// Where an event stands: what `apply` may know beside the payload.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The sequence number.
    pub seq: Seq,
    /// The wall time of the transaction.
    pub at: Timestamp,
}

/// The tables as `apply` sees them: no clock, no configuration, no randomness.
pub struct Tables<'a> {
    session: &'a mut dyn Session,
}

impl<'a> Tables<'a> {
    /// Opens the tables of a running write transaction.
    pub fn new(session: &'a mut dyn Session) -> Self {
        Self { session }
    }

    /// Changes rows, vouching for how many.
    pub fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        self.session.write(sql, params, rows)
    }

    /// Reads rows that the projection needs.
    pub fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.session.each(sql, params, visit)
    }
}

/// One kind of event: its payload, what it is about, and what it does to the tables.
pub trait Apply {
    /// Returns what the event is about.
    fn subject(&self) -> Subject;

    /// Returns the largest number that it gives to anything; entities that are there have theirs.
    fn largest_id(&self) -> i64 {
        self.subject().id
    }

    /// Returns the project it belongs to, if it does.
    fn project(&self) -> Option<ProjectId>;

    /// Returns the run it belongs to, if it does (I4).
    fn run(&self) -> Option<RunId> {
        None
    }

    /// Writes the tables: a function of the event and the tables alone.
    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError>;

    /// Parts it from what somebody wrote; nothing where it holds only names, numbers and states
    /// (I8).
    fn redacted(&self) -> Option<Redacted>;
}

macro_rules! events {
    ($($kind:literal, $v:literal, $variant:ident;)+) => {
        /// An event's payload, by kind.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented at its payload")]
        pub enum Event {
            $($variant($variant),)+
            CustomAppended(CustomAppended),
        }

        impl Event {
            /// Every kind of event that has a name here; those of callers begin with `custom.`.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// Returns the kind, as the log names it.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::CustomAppended(payload) => &payload.kind,
                }
            }

            /// Returns the version of the payload that this program writes.
            pub const fn version(&self) -> i64 {
                match self {
                    $(Self::$variant(_) => $v,)+
                    Self::CustomAppended(_) => 1,
                }
            }

            /// Writes the payload as JSON.
            pub fn payload(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$variant(payload) => serde_json::to_string(payload),)+
                    Self::CustomAppended(payload) => serde_json::to_string(payload),
                }
            }

            /// Reads an event back; `None` if this program does not know the kind and version.
            pub fn read(kind: &str, v: i64, payload: &str) -> Option<serde_json::Result<Self>> {
                match (kind, v) {
                    $(($kind, $v) => Some(serde_json::from_str(payload).map(Self::$variant)),)+
                    (kind, 1) if CustomKind::is_meant(kind) => {
                        Some(CustomAppended::read(kind, payload).map(Self::CustomAppended))
                    }
                    _ => None,
                }
            }

            /// Returns the payload's own behaviour.
            pub fn inner(&self) -> &dyn Apply {
                match self {
                    $(Self::$variant(payload) => payload,)+
                    Self::CustomAppended(payload) => payload,
                }
            }
        }

        impl From<CustomAppended> for Event {
            fn from(payload: CustomAppended) -> Self {
                Self::CustomAppended(payload)
            }
        }

        $(impl From<$variant> for Event {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })+
    };
}

events! {
    "project_created", 1, ProjectCreated;
    "project_updated", 1, ProjectUpdated;
    "agent_registered", 1, AgentRegistered;
    "agent_updated", 1, AgentUpdated;
    "agent_retired", 1, AgentRetired;
    "token_created", 1, TokenCreated;
    "token_revoked", 1, TokenRevoked;
    "hook_added", 1, HookAdded;
    "hook_removed", 1, HookRemoved;
    "message_sent", 1, MessageSent;
    "message_read", 1, MessageRead;
    "message_acknowledged", 1, MessageAcknowledged;
    "contact_requested", 1, ContactRequested;
    "contact_answered", 1, ContactAnswered;
    "files_reserved", 1, FilesReserved;
    "lock_acquired", 1, LockAcquired;
    "lease_renewed", 1, LeaseRenewed;
    "lease_released", 1, LeaseReleased;
    "lease_forced", 1, LeaseForced;
    "lease_retired", 1, LeaseRetired;
    "lease_expired", 1, LeaseExpired;
    "release_requested", 1, ReleaseRequested;
    "release_answered", 1, ReleaseAnswered;
    "sentinel_claimed", 1, SentinelClaimed;
    "sentinel_reset", 1, SentinelReset;
    "epoch_begun", 1, EpochBegun;
    "run_created", 1, RunCreated;
    "run_advanced", 1, RunAdvanced;
    "gate_overridden", 1, GateOverridden;
    "gate_refused", 1, GateRefused;
    "phase_skipped", 1, PhaseSkipped;
    "run_rolled_back", 1, RunRolledBack;
    "run_paused", 1, RunPaused;
    "run_resumed", 1, RunResumed;
    "run_cancelled", 1, RunCancelled;
    "run_failed", 1, RunFailed;
    "run_updated", 1, RunUpdated;
    "artifact_added", 1, ArtifactAdded;
    "artifact_withdrawn", 1, ArtifactWithdrawn;
    "run_agent_added", 1, RunAgentAdded;
    "run_agent_finished", 1, RunAgentFinished;
    "verdict_recorded", 1, VerdictRecorded;
    "phase_approved", 1, PhaseApproved;
    "runs_linked", 1, RunsLinked;
    "runs_unlinked", 1, RunsUnlinked;
    "dispatch_created", 1, DispatchCreated;
    "dispatch_claimed", 1, DispatchClaimed;
    "dispatch_started", 1, DispatchStarted;
    "dispatch_extended", 1, DispatchExtended;
    "dispatch_reported", 1, DispatchReported;
    "dispatch_returned", 1, DispatchReturned;
    "dispatch_finished", 1, DispatchFinished;
    "dispatch_cancelled", 1, DispatchCancelled;
    "dispatch_timed_out", 1, DispatchTimedOut;
    "state_saved", 1, StateSaved;
    "state_deleted", 1, StateDeleted;
    "state_expired", 1, StateExpired;
    "state_cleared", 1, StateCleared;
    "discovery_submitted", 1, DiscoverySubmitted;
    "discovery_embedded", 1, DiscoveryEmbedded;
    "discovery_scored", 1, DiscoveryScored;
    "discovery_decayed", 1, DiscoveryDecayed;
    "discovery_promoted", 1, DiscoveryPromoted;
    "discovery_dismissed", 1, DiscoveryDismissed;
    "feedback_given", 1, FeedbackGiven;
    "interest_profile_updated", 1, InterestProfileUpdated;
    "consumer_registered", 1, ConsumerRegistered;
    "consumer_reset", 1, ConsumerReset;
    "consumer_expired", 1, ConsumerExpired;
    "event_redacted", 1, EventRedacted;
    "log_pruned", 1, LogPruned;
}

/// Matches every event of runs and dispatches, for whoever treats them alike.
#[macro_export]
macro_rules! work_event {
    () => {
        $crate::log::Event::RunCreated(_)
            | $crate::log::Event::RunAdvanced(_)
            | $crate::log::Event::GateOverridden(_)
            | $crate::log::Event::GateRefused(_)
            | $crate::log::Event::PhaseSkipped(_)
            | $crate::log::Event::RunRolledBack(_)
            | $crate::log::Event::RunPaused(_)
            | $crate::log::Event::RunResumed(_)
            | $crate::log::Event::RunCancelled(_)
            | $crate::log::Event::RunFailed(_)
            | $crate::log::Event::RunUpdated(_)
            | $crate::log::Event::ArtifactAdded(_)
            | $crate::log::Event::ArtifactWithdrawn(_)
            | $crate::log::Event::RunAgentAdded(_)
            | $crate::log::Event::RunAgentFinished(_)
            | $crate::log::Event::VerdictRecorded(_)
            | $crate::log::Event::PhaseApproved(_)
            | $crate::log::Event::RunsLinked(_)
            | $crate::log::Event::RunsUnlinked(_)
            | $crate::log::Event::DispatchCreated(_)
            | $crate::log::Event::DispatchClaimed(_)
            | $crate::log::Event::DispatchStarted(_)
            | $crate::log::Event::DispatchExtended(_)
            | $crate::log::Event::DispatchReported(_)
            | $crate::log::Event::DispatchReturned(_)
            | $crate::log::Event::DispatchFinished(_)
            | $crate::log::Event::DispatchCancelled(_)
            | $crate::log::Event::DispatchTimedOut(_)
    };
}

/// Matches every event of discoveries and interest profiles, for whoever treats them alike.
#[macro_export]
macro_rules! discovery_event {
    () => {
        $crate::log::Event::DiscoverySubmitted(_)
            | $crate::log::Event::DiscoveryEmbedded(_)
            | $crate::log::Event::DiscoveryScored(_)
            | $crate::log::Event::DiscoveryDecayed(_)
            | $crate::log::Event::DiscoveryPromoted(_)
            | $crate::log::Event::DiscoveryDismissed(_)
            | $crate::log::Event::FeedbackGiven(_)
            | $crate::log::Event::InterestProfileUpdated(_)
    };
}
