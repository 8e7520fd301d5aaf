//! Registers an agent, or resumes the one whose token is presented.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::limits::{
    CAPABILITIES_MAX, LABEL_BYTES_MAX, METADATA_BYTES_MAX, TASK_BYTES_MAX,
};
use comity_domain::{
    AgentId, AgentName, ContactPolicy, Line, ProjectId, Prose, Right, Role, TokenSecret,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{AgentRegistered, AgentUpdated, Profile};
use super::table::{self, Agent, Vacancy};
use crate::actor::{Actor, Party};
use crate::command::{Command, Issued, Secret, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::token::create::{Owner, issue};
use crate::tx::{Read, WriteTx};

/// Registers an agent under a name of its own.
///
/// With the operator's credential it makes a new agent; a name that exists is `name_taken`, never
/// a silent second identity. With an agent's own token it resumes that agent: same id, the given
/// fields updated, nothing lost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterAgent {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The name; a readable one is made up unless given.
    #[serde(default)]
    pub name: Option<AgentName>,
    /// The program it runs in, such as `claude-code`.
    pub program: Line<LABEL_BYTES_MAX>,
    /// The model that drives it.
    pub model: Line<LABEL_BYTES_MAX>,
    /// What it is here for.
    #[serde(default)]
    pub task: Option<Prose<TASK_BYTES_MAX>>,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Option<BTreeSet<Line<LABEL_BYTES_MAX>>>,
    /// Whatever else its owner wants to keep.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, Value>>,
    /// What it may do beyond its own things; the operator's to give.
    #[serde(default)]
    pub rights: Option<BTreeSet<Right>>,
    /// Who may write to it: `open`, `contacts` or `closed`.
    #[serde(default)]
    pub contact_policy: Option<ContactPolicy>,
}

/// The agent, whether it is new, and once only its token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredAgent {
    /// The agent.
    pub agent: Agent,
    /// Whether this call created it.
    pub created: bool,
    /// The token; `None` when resumed or replayed.
    #[serde(skip)]
    pub secret: Option<TokenSecret>,
}

impl Command for RegisterAgent {
    const NAME: &'static str = "register_agent";
    const WHO: &'static [Party] = &[Party::Operator, Party::Itself];
    type Answer = RegisteredAgent;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RegisteredAgent, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let changes = ProfileChanges {
            program: Some(self.program.to_string()),
            model: Some(self.model.to_string()),
            task: self.task.as_ref().map(ToString::to_string),
            capabilities: self.capabilities.as_ref().map(labels),
            metadata: self.metadata.clone().map(Map::from_iter),
            rights: self.rights.clone(),
            contact_policy: self.contact_policy,
        };
        Ok(match actor {
            Actor::Agent { agent, .. } => {
                let own = table::by_id(tx, agent)?
                    .ok_or_else(|| Error::internal(Impossible("a token without its agent")))?;
                self.resume(tx, own, changes)?
            }
            Actor::Operator { .. } | Actor::Observer { .. } | Actor::System => {
                self.create(tx, &project, changes)?
            }
        })
    }

    fn secret(answer: &RegisteredAgent) -> Option<Secret> {
        Some(Secret::Token(Issued {
            secret: answer.secret.clone()?,
            agent: Some((answer.agent.project.clone(), answer.agent.name.clone())),
        }))
    }
}

impl RegisterAgent {
    fn create(
        &self,
        tx: &mut WriteTx<'_, '_>,
        project: &Project,
        changes: ProfileChanges,
    ) -> Result<RegisteredAgent, Error> {
        let (name, vacancy) = match &self.name {
            Some(name) => (name.clone(), table::vacancy(tx, project.id, name)?),
            None => free_name(tx, project.id)?,
        };
        if let Some(owner) = vacancy.taken_by {
            return Err(refusal(tx, owner)?);
        }
        let profile = changes.merged_into(Profile {
            program: String::new(),
            model: String::new(),
            task: String::new(),
            capabilities: BTreeSet::new(),
            metadata: Map::new(),
            rights: BTreeSet::new(),
            contact_policy: ContactPolicy::Open,
        })?;
        let agent = Agent {
            id: vacancy.agent,
            project: project.slug.clone(),
            project_id: project.id,
            name: name.to_string(),
            profile: profile.clone(),
            created_at: tx.now().at,
            retired_at: None,
            revision: 1,
        };
        tx.emit(AgentRegistered {
            id: agent.id,
            project: project.id,
            name,
            profile,
        })?;
        let owner = Owner {
            role: Role::Agent,
            project: Some(project.id),
            agent: Some(agent.id),
            name: agent.name.clone(),
        };
        let secret = issue(tx, vacancy.token, owner)?.secret;
        Ok(RegisteredAgent {
            agent,
            created: true,
            secret,
        })
    }

    fn resume(
        &self,
        tx: &mut WriteTx<'_, '_>,
        own: Agent,
        changes: ProfileChanges,
    ) -> Result<RegisteredAgent, Error> {
        let asked = self.name.as_ref().map(AgentName::folded);
        if asked.is_some_and(|asked| asked != own.name.to_ascii_lowercase()) {
            return Err(Error::Forbidden {
                reason: format!("the credential is that of `{}`", own.name),
            });
        }
        let agent = change_profile(tx, own, changes)?;
        Ok(RegisteredAgent {
            agent,
            created: false,
            secret: None,
        })
    }
}

fn refusal(tx: &mut WriteTx<'_, '_>, owner: AgentId) -> Result<Error, Error> {
    let taken = table::by_id(tx, owner)?
        .ok_or_else(|| Error::internal(Impossible("a name without its agent")))?;
    Ok(match taken.retired_at {
        Some(_) => Error::AgentRetired { name: taken.name },
        None => Error::NameTaken {
            name: taken.name,
            agent: taken.id.get(),
        },
    })
}

/// Makes up a name that is free: two words, and a number if they are taken.
fn free_name(tx: &mut WriteTx<'_, '_>, project: ProjectId) -> Result<(AgentName, Vacancy), Error> {
    for n in 1.. {
        let words = AgentName::from_random(u64::from_le_bytes(tx.random()));
        // The first tries are plain words; a crowded project gets a number behind them.
        let name = if n < 8 { words } else { words.numbered(n) };
        let vacancy = table::vacancy(tx, project, &name)?;
        if vacancy.taken_by.is_none() {
            return Ok((name, vacancy));
        }
    }
    Err(Error::internal(Impossible("there are no numbers left")))
}

/// The fields of a profile that a request gives; the others stay.
pub(crate) struct ProfileChanges {
    pub(crate) program: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) task: Option<String>,
    pub(crate) capabilities: Option<BTreeSet<String>>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) rights: Option<BTreeSet<Right>>,
    pub(crate) contact_policy: Option<ContactPolicy>,
}

impl ProfileChanges {
    fn merged_into(self, before: Profile) -> Result<Profile, Error> {
        let profile = Profile {
            program: self.program.unwrap_or(before.program),
            model: self.model.unwrap_or(before.model),
            task: self.task.unwrap_or(before.task),
            capabilities: self.capabilities.unwrap_or(before.capabilities),
            metadata: self.metadata.unwrap_or(before.metadata),
            rights: self.rights.unwrap_or(before.rights),
            contact_policy: self.contact_policy.unwrap_or(before.contact_policy),
        };
        if profile.capabilities.len() > CAPABILITIES_MAX {
            let rule = format!("must be at most {CAPABILITIES_MAX}");
            return Err(Error::invalid("capabilities", rule));
        }
        let bytes = serde_json::to_string(&profile.metadata)?.len();
        if bytes > METADATA_BYTES_MAX {
            let rule = format!("must be at most {METADATA_BYTES_MAX} bytes of JSON, not {bytes}");
            return Err(Error::invalid("metadata", rule));
        }
        Ok(profile)
    }
}

/// Changes what a request gives of an agent's profile; without a difference nothing happens.
pub(crate) fn change_profile(
    tx: &mut WriteTx<'_, '_>,
    before: Agent,
    changes: ProfileChanges,
) -> Result<Agent, Error> {
    let profile = changes.merged_into(before.profile.clone())?;
    if profile.rights != before.profile.rights && !matches!(tx.actor(), Actor::Operator { .. }) {
        return Err(Error::Forbidden {
            reason: "only the operator gives and takes rights".to_owned(),
        });
    }
    if profile == before.profile {
        return Ok(before);
    }
    tx.emit(AgentUpdated {
        id: before.id,
        project: before.project_id,
        profile,
    })?;
    table::by_id(tx, before.id)?
        .ok_or_else(|| Error::internal(Impossible("an agent vanished as it was changed")))
}

pub(crate) fn labels(labels: &BTreeSet<Line<LABEL_BYTES_MAX>>) -> BTreeSet<String> {
    labels.iter().map(ToString::to_string).collect()
}
