//! Who sees an event, and how much of it: a pure function of the event and the caller.

use comity_domain::{AgentId, Delivery, ProjectId};

use super::table::Hidden;
use crate::actor::Actor;
use crate::log::Event;
use crate::mail::event::Recipient;
use crate::{discovery_event, work_event};

/// Through whose eyes the log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A person's: everything.
    Operator,
    /// A reader's, of one project or of all.
    Observer {
        /// The only project it sees, if it is limited.
        project: Option<ProjectId>,
    },
    /// An agent's.
    Agent {
        /// The agent.
        agent: AgentId,
        /// Its project.
        project: ProjectId,
    },
}

/// How much of an event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// All of it.
    Whole,
    /// A message as a recipient has it: no bcc but its own.
    Received {
        /// The recipient, where it is a bcc itself.
        bcc: Option<AgentId>,
    },
    /// What is written on the outside: of mail without bcc, of state without its value.
    Head,
}

/// Who may see an event; it is found out once, whoever asks later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vision {
    /// Operators alone.
    Operator,
    /// Everybody: it concerns the log itself.
    Everybody,
    /// Everybody who sees the project; without one, observers of all.
    Project(Option<ProjectId>),
    /// Two agents, and whoever observes the project.
    Between {
        /// The project of the event.
        project: ProjectId,
        /// The two.
        agents: [AgentId; 2],
    },
    /// Everybody who shares a scope of state, or the agent whose own it is; observers see what is
    /// shared without the values.
    Kept {
        /// The project.
        project: ProjectId,
        /// Whose own the scope is; nobody's is shared.
        owner: Option<AgentId>,
    },
    /// The parties of a message.
    Sent {
        /// The sender's project.
        project: ProjectId,
        /// The sender; nobody is the operator.
        from: Option<AgentId>,
        /// Everybody who gets it.
        recipients: Vec<Recipient>,
    },
    /// The writer of a message, and the recipient who did something with it.
    Marked {
        /// The message's project.
        project: ProjectId,
        /// The sender; nobody is the operator.
        from: Option<AgentId>,
        /// The recipient; nobody is the operator.
        by: Option<AgentId>,
        /// How the recipient is named in the message, as far as it matters.
        delivery: Delivery,
    },
}

impl Sight {
    /// Returns the eyes of a caller.
    pub const fn of(actor: &Actor) -> Self {
        match actor {
            Actor::Operator { .. } | Actor::System => Self::Operator,
            Actor::Agent { agent, project, .. } => Self::Agent {
                agent: *agent,
                project: *project,
            },
            Actor::Observer { project, .. } => Self::Observer { project: *project },
        }
    }
}

impl Vision {
    /// Finds out who may see an event.
    ///
    /// What this program cannot read may be anything, so operators alone see it.
    #[expect(
        clippy::unnested_or_patterns,
        reason = "the kinds of work are listed in one place"
    )]
    pub(super) fn of(event: Option<&Event>, hidden: &Hidden) -> Self {
        let Some(event) = event else {
            return Self::Operator;
        };
        let delivery = |id: i64, by: Option<AgentId>| delivered(hidden, id, by);
        match event {
            Event::ProjectCreated(_)
            | Event::ProjectUpdated(_)
            | Event::AgentRegistered(_)
            | Event::AgentUpdated(_)
            | Event::AgentRetired(_)
            | Event::FilesReserved(_)
            | Event::LockAcquired(_)
            | Event::LeaseRenewed(_)
            | Event::LeaseReleased(_)
            | Event::LeaseForced(_)
            | Event::LeaseRetired(_)
            | Event::LeaseExpired(_)
            | Event::ReleaseRequested(_)
            | Event::ReleaseAnswered(_)
            | Event::SentinelClaimed(_)
            | Event::SentinelReset(_)
            | Event::ConsumerRegistered(_)
            | Event::ConsumerReset(_)
            | Event::ConsumerExpired(_)
            | Event::CustomAppended(_)
            | work_event!()
            | discovery_event!() => Self::Project(event.inner().project()),
            Event::TokenCreated(_)
            | Event::TokenRevoked(_)
            | Event::HookAdded(_)
            | Event::HookRemoved(_)
            | Event::EventRedacted(_) => Self::Operator,
            Event::EpochBegun(_) | Event::LogPruned(_) => Self::Everybody,
            Event::StateSaved(one) => Self::kept(one.project, one.owner),
            Event::StateDeleted(one) => Self::kept(one.project, one.owner),
            Event::StateExpired(one) => Self::kept(one.project, one.owner),
            Event::StateCleared(one) => Self::kept(one.project, one.owner),
            Event::MessageSent(sent) => Self::Sent {
                project: sent.project,
                from: sent.from,
                recipients: sent.recipients.clone(),
            },
            Event::MessageRead(read) => Self::Marked {
                project: read.project,
                from: read.from,
                by: read.by,
                delivery: delivery(read.id.get(), read.by),
            },
            Event::MessageAcknowledged(acked) => Self::Marked {
                project: acked.project,
                from: acked.from,
                by: acked.by,
                delivery: delivery(acked.id.get(), acked.by),
            },
            Event::ContactRequested(asked) => Self::Between {
                project: asked.project,
                agents: [asked.agent, asked.sender],
            },
            Event::ContactAnswered(answered) => Self::Between {
                project: answered.project,
                agents: [answered.agent, answered.sender],
            },
        }
    }

    const fn kept(project: ProjectId, owner: Option<AgentId>) -> Self {
        Self::Kept { project, owner }
    }

    /// Tells how much of the event is seen, if any.
    pub fn view(&self, sight: Sight) -> Option<View> {
        match sight {
            Sight::Operator => Some(View::Whole),
            Sight::Observer { project } => self.observed(project),
            Sight::Agent { agent, project } => self.met(agent, project),
        }
    }

    fn observed(&self, only: Option<ProjectId>) -> Option<View> {
        let within = |project: ProjectId| only.is_none_or(|only| only == project);
        match self {
            Self::Operator => None,
            Self::Everybody => Some(View::Whole),
            Self::Project(project) => {
                let seen = project.map_or(only.is_none(), within);
                seen.then_some(View::Whole)
            }
            Self::Between { project, .. } => within(*project).then_some(View::Whole),
            Self::Kept { project, owner } => {
                (within(*project) && owner.is_none()).then_some(View::Head)
            }
            Self::Sent { project, .. } => within(*project).then_some(View::Head),
            Self::Marked {
                project, delivery, ..
            } => (within(*project) && *delivery != Delivery::Bcc).then_some(View::Head),
        }
    }

    fn met(&self, agent: AgentId, own: ProjectId) -> Option<View> {
        let is_agent = |party: &Option<AgentId>| *party == Some(agent);
        match self {
            Self::Operator => None,
            Self::Everybody => Some(View::Whole),
            Self::Project(project) => (*project == Some(own)).then_some(View::Whole),
            Self::Kept { project, owner } => {
                let seen = owner.map_or(*project == own, |owner| owner == agent);
                seen.then_some(View::Whole)
            }
            Self::Between { agents, .. } => agents.contains(&agent).then_some(View::Whole),
            Self::Sent { from, .. } if is_agent(from) => Some(View::Whole),
            Self::Sent { recipients, .. } => {
                let own = recipients.iter().find(|one| is_agent(&one.agent))?;
                let bcc = (own.delivery == Delivery::Bcc).then_some(agent);
                Some(View::Received { bcc })
            }
            Self::Marked { from, by, .. } => {
                (is_agent(from) || is_agent(by)).then_some(View::Whole)
            }
        }
    }
}

/// Tells how a recipient is named in a message, as far as it matters.
fn delivered(hidden: &Hidden, id: i64, by: Option<AgentId>) -> Delivery {
    if hidden.contains(&(id, by.map_or(0, AgentId::get))) {
        Delivery::Bcc
    } else {
        Delivery::To
    }
}
