//! A plain model of projects, agents and tokens: what the kernel must answer, in a few maps.
//!
//! It shares no code with the kernel. A [`Step`] is plain data, so a failing sequence shrinks and
//! can be read; [`Model::apply`] tells the answer and remembers the effect.

use std::collections::{BTreeMap, BTreeSet};

pub use step::{
    AgentBy, Done, Expected, Party, ProfileChanges, ProjectChanges, Refusal, Request, Step, Who,
    Word,
};

mod step;

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;
const GRACE_MINUTES_MAX: i64 = 7 * 24 * 60;
const LEASES_MAX: i64 = 100_000;

/// A project as the model knows it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the kernel's project")]
pub struct Project {
    pub id: i64,
    pub key: String,
    pub slug: String,
    pub name: String,
    pub case_insensitive: bool,
    pub guard_mode: String,
    pub grace_minutes: i64,
    pub leases_per_agent: i64,
    pub created_us: i64,
    pub revision: i64,
}

/// What an agent says of itself, and what it was given.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the kernel's profile")]
pub struct Profile {
    pub program: String,
    pub model: String,
    pub task: String,
    pub capabilities: BTreeSet<String>,
    pub mark: Option<u8>,
    pub orchestrate: bool,
}

/// An agent as the model knows it; a made-up name is empty until it is learnt.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the kernel's agent")]
pub struct Agent {
    pub id: i64,
    pub project: i64,
    pub name: String,
    pub profile: Profile,
    pub created_us: i64,
    pub retired_us: Option<i64>,
    pub revision: i64,
}

/// A token as the model knows it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the kernel's token")]
pub struct Token {
    pub id: i64,
    pub role: String,
    pub project: Option<i64>,
    pub agent: Option<i64>,
    pub name: String,
    pub created_us: i64,
    pub revoked_us: Option<i64>,
    pub revision: i64,
}

struct First {
    request: Request,
    done: Done,
    at_us: i64,
}

/// Everything there is.
pub struct Model {
    /// Projects, oldest first.
    pub projects: Vec<Project>,
    /// Agents, oldest first, retired ones included.
    pub agents: Vec<Agent>,
    /// Tokens, oldest first, revoked ones included.
    pub tokens: Vec<Token>,
    /// How many events the log holds.
    pub seq: i64,
    now_us: i64,
    firsts: BTreeMap<(Who, &'static str, u8), First>,
}

fn refused<T>(code: &'static str) -> Result<T, Refusal> {
    Err(Refusal { code, about: None })
}

impl Profile {
    fn with(&self, changes: &ProfileChanges) -> Self {
        let text = |given: Option<Word>, before: &String| given.map_or(before.clone(), Into::into);
        let given = changes.capabilities.as_ref();
        Self {
            program: text(changes.program, &self.program),
            model: text(changes.model, &self.model),
            task: text(changes.task, &self.task),
            capabilities: given.map_or(self.capabilities.clone(), |words| {
                words.iter().map(ToString::to_string).collect()
            }),
            mark: changes.mark.or(self.mark),
            orchestrate: changes.orchestrate.unwrap_or(self.orchestrate),
        }
    }
}

impl Model {
    /// Starts empty at a wall time.
    pub fn new(now_us: i64) -> Self {
        Self {
            projects: Vec::new(),
            agents: Vec::new(),
            tokens: Vec::new(),
            seq: 0,
            now_us,
            firsts: BTreeMap::new(),
        }
    }

    /// Lets time pass on both clocks.
    pub fn pass_us(&mut self, us: i64) {
        self.now_us += us;
    }

    /// Tells who acts with a credential; `None` if it is good for nothing.
    pub fn party(&self, who: Who) -> Option<Party> {
        let Who::Token(id) = who else {
            return Some(Party::Operator);
        };
        let living = |token: &&Token| token.id == id && token.revoked_us.is_none();
        let token = self.tokens.iter().find(living)?;
        Some(match (token.agent, token.project) {
            (Some(agent), Some(project)) => {
                Party::Agent(agent, project, self.agent(agent).profile.orchestrate)
            }
            (_, project) if token.role == "observer" => Party::Observer(project),
            _ => Party::Operator,
        })
    }

    /// Takes note of a name that the kernel made up; `false` if it was not free.
    pub fn learn_name(&mut self, id: i64, name: &str) -> bool {
        let project = self.agent(id).project;
        let free = self.named(project, name).is_none();
        name.clone_into(&mut self.agent_mut(id).name);
        let own = |token: &&mut Token| token.agent == Some(id);
        for token in self.tokens.iter_mut().filter(own) {
            name.clone_into(&mut token.name);
        }
        free
    }

    /// Tells what the kernel must answer, and takes the effect.
    pub fn apply(&mut self, step: &Step) -> Expected {
        match self.answer(step) {
            Ok(done) => Expected::Done(done),
            Err(refusal) => Expected::Refused(refusal),
        }
    }

    fn answer(&mut self, step: &Step) -> Result<Done, Refusal> {
        let Some(party) = self.party(step.who) else {
            return refused("unauthorized"); // E5
        };
        if !step.request.open_to(party) {
            return refused("forbidden");
        }
        let Some(key) = step.key else {
            return self.decide(party, &step.request);
        };
        // C2: per credential and operation, for a day, successes only.
        let slot = (step.who, step.request.operation(), key);
        let first = self.firsts.get(&slot);
        if let Some(first) = first.filter(|first| first.at_us > self.now_us - DAY_US) {
            if first.request != step.request {
                return refused("idempotency_mismatch");
            }
            return Ok(Done {
                token: None,
                replayed: true,
                ..first.done
            });
        }
        let done = self.decide(party, &step.request)?;
        let first = First {
            request: step.request.clone(),
            done,
            at_us: self.now_us,
        };
        self.firsts.insert(slot, first);
        Ok(done)
    }

    fn decide(&mut self, party: Party, request: &Request) -> Result<Done, Refusal> {
        match request {
            Request::EnsureProject { key, name } => Ok(self.ensure_project(key, *name)),
            Request::UpdateProject {
                project,
                changes,
                expected_revision,
            } => self.update_project(party, *project, changes, *expected_revision),
            Request::RegisterAgent {
                project,
                name,
                changes,
            } => self.register_agent(party, *project, *name, changes),
            Request::UpdateAgent {
                project,
                agent,
                changes,
                expected_revision,
            } => {
                let id = self.own_or_operators(party, *project, *agent)?;
                check_revision(*expected_revision, self.agent(id).revision)?;
                self.change_profile(party, id, changes)
            }
            Request::RotateToken { project, agent } => {
                let id = self.own_or_operators(party, *project, *agent)?;
                Ok(self.rotate_token(id))
            }
            Request::RetireAgent { project, agent } => {
                let id = self.own_or_operators(party, *project, *agent)?;
                Ok(self.retire_agent(id))
            }
            Request::CreateToken {
                role,
                project,
                name,
            } => self.create_token(party, role, *project, *name),
            Request::RevokeToken { id } => self.revoke_token(*id),
        }
    }

    fn ensure_project(&mut self, key: &str, name: Option<Word>) -> Done {
        if let Some(project) = self.projects.iter().find(|project| project.key == key) {
            return self.done(project.id, project.revision).created(false);
        }
        let slug = self.free_slug(key);
        let id = count(&self.projects) + 1;
        self.projects.push(Project {
            id,
            key: key.to_owned(),
            name: name.map_or(slug.clone(), Into::into),
            slug,
            case_insensitive: false,
            guard_mode: "block".to_owned(),
            grace_minutes: 15,
            leases_per_agent: 1_000,
            created_us: self.now_us,
            revision: 1,
        });
        self.seq += 1;
        self.done(id, 1).created(true)
    }

    fn free_slug(&self, key: &str) -> String {
        let last = key.rsplit('/').next().unwrap_or_default().to_lowercase();
        let wanted = last.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let taken = |slug: &String| self.projects.iter().any(|project| project.slug == *slug);
        std::iter::once(wanted.clone())
            .chain((2..=self.projects.len() + 1).map(|n| format!("{wanted}-{n}")))
            .find(|slug| !taken(slug))
            .unwrap_or_default()
    }

    fn update_project(
        &mut self,
        party: Party,
        project: Option<Word>,
        changes: &ProjectChanges,
        expected_revision: Option<i64>,
    ) -> Result<Done, Refusal> {
        let id = self.project(party, project)?;
        let before = self.project_mut(id).clone();
        check_revision(expected_revision, before.revision)?;
        let grace_minutes = changes.grace_minutes.unwrap_or(before.grace_minutes);
        let leases_per_agent = changes.leases_per_agent.unwrap_or(before.leases_per_agent);
        if grace_minutes > GRACE_MINUTES_MAX || !(1..=LEASES_MAX).contains(&leases_per_agent) {
            return refused("invalid");
        }
        let word = |given: Option<Word>, before: &String| given.map_or(before.clone(), Into::into);
        let mut after = Project {
            name: word(changes.name, &before.name),
            guard_mode: word(changes.guard_mode, &before.guard_mode),
            case_insensitive: changes.case_insensitive.unwrap_or(before.case_insensitive),
            grace_minutes,
            leases_per_agent,
            ..before.clone()
        };
        if after != before {
            after.revision += 1;
            self.seq += 1;
        }
        let revision = after.revision;
        *self.project_mut(id) = after;
        Ok(self.done(id, revision))
    }

    fn register_agent(
        &mut self,
        party: Party,
        project: Option<Word>,
        name: Option<Word>,
        changes: &ProfileChanges,
    ) -> Result<Done, Refusal> {
        let project = self.project(party, project)?;
        if let Party::Agent(own, ..) = party {
            let asked_for = |name: Word| name.eq_ignore_ascii_case(&self.agent(own).name);
            if !name.is_none_or(asked_for) {
                return refused("forbidden");
            }
            return Ok(self.change_profile(party, own, changes)?.created(false));
        }
        if let Some(taken) = name.and_then(|name| self.named(project, name)) {
            return Err(match taken.retired_us {
                Some(_) => Refusal {
                    code: "agent_retired",
                    about: None,
                },
                None => Refusal {
                    code: "name_taken", // E3
                    about: Some(taken.id),
                },
            });
        }
        let id = count(&self.agents) + 1;
        self.agents.push(Agent {
            id,
            project,
            name: name.unwrap_or_default().to_owned(),
            profile: Profile::default().with(changes),
            created_us: self.now_us,
            retired_us: None,
            revision: 1,
        });
        self.seq += 1;
        let token = self.issue("agent", Some(project), Some(id), name.unwrap_or_default());
        Ok(Done {
            token: Some(token),
            ..self.done(id, 1).created(true)
        })
    }

    fn change_profile(
        &mut self,
        party: Party,
        id: i64,
        changes: &ProfileChanges,
    ) -> Result<Done, Refusal> {
        let before = &self.agent(id).profile;
        let after = before.with(changes);
        if after.orchestrate != before.orchestrate && party != Party::Operator {
            return refused("forbidden");
        }
        if after != *before {
            self.seq += 1;
            self.agent_mut(id).revision += 1;
            self.agent_mut(id).profile = after;
        }
        Ok(self.done(id, self.agent(id).revision))
    }

    fn rotate_token(&mut self, agent: i64) -> Done {
        self.revoke_all(agent);
        let (project, name) = (self.agent(agent).project, self.agent(agent).name.clone());
        let token = self.issue("agent", Some(project), Some(agent), &name);
        Done {
            token: Some(token),
            ..self.done(token, 1)
        }
    }

    fn retire_agent(&mut self, id: i64) -> Done {
        self.seq += 1;
        self.agent_mut(id).retired_us = Some(self.now_us);
        self.agent_mut(id).revision += 1;
        self.revoke_all(id);
        self.done(id, self.agent(id).revision)
    }

    fn create_token(
        &mut self,
        party: Party,
        role: &str,
        project: Option<Word>,
        name: Option<Word>,
    ) -> Result<Done, Refusal> {
        let project = match (role, project) {
            ("agent", _) | ("operator", Some(_)) => return refused("invalid"),
            (_, None) => None,
            (_, named) => Some(self.project(party, named)?),
        };
        let token = self.issue(role, project, None, name.unwrap_or_default());
        Ok(Done {
            token: Some(token),
            ..self.done(token, 1)
        })
    }

    fn revoke_token(&mut self, id: i64) -> Result<Done, Refusal> {
        let now_us = self.now_us;
        let Some(token) = self.tokens.iter_mut().find(|token| token.id == id) else {
            return refused("not_found");
        };
        if token.revoked_us.is_none() {
            token.revoked_us = Some(now_us);
            token.revision += 1;
            self.seq += 1;
        }
        let revision = token.revision;
        Ok(self.done(id, revision))
    }

    /// Finds a project by key, or else by slug; to an agent only its own is there (S20).
    fn project(&self, party: Party, named: Option<Word>) -> Result<i64, Refusal> {
        let own = match party {
            Party::Agent(_, own, _) => Some(own),
            Party::Operator | Party::Observer(_) => None,
        };
        let Some(name) = named else {
            return own.map_or(refused("invalid"), Ok);
        };
        let mut visible = self
            .projects
            .iter()
            .filter(|project| own.is_none_or(|own| own == project.id));
        let by_key = visible.clone().find(|project| project.key == name);
        let by_slug = visible.find(|project| project.slug == name);
        match by_key.or(by_slug) {
            Some(found) => Ok(found.id),
            None => refused("not_found"),
        }
    }

    /// Finds an agent the party may change: itself, or any as the operator; no retired one.
    fn own_or_operators(
        &self,
        party: Party,
        project: Option<Word>,
        agent: AgentBy,
    ) -> Result<i64, Refusal> {
        let given = match project {
            Some(_) => Some(self.project(party, project)?),
            None => None,
        };
        let (own, project) = match party {
            Party::Agent(own, project, _) => (Some(own), Some(project)),
            Party::Operator | Party::Observer(_) => (None, given),
        };
        let found = match (agent, project) {
            (AgentBy::Id(id), _) => self.agents.iter().find(|agent| agent.id == id),
            (AgentBy::Name(name), Some(project)) => self.named(project, name),
            (AgentBy::Name(_), None) => return refused("invalid"),
        };
        let visible = |agent: &&Agent| project.is_none_or(|project| project == agent.project);
        match found.filter(visible) {
            None => refused("not_found"),
            Some(agent) if own.is_some_and(|own| own != agent.id) => refused("forbidden"),
            Some(agent) if agent.retired_us.is_some() => refused("agent_retired"),
            Some(agent) => Ok(agent.id),
        }
    }

    fn named(&self, project: i64, name: &str) -> Option<&Agent> {
        let same = |agent: &&Agent| {
            agent.project == project && agent.name.eq_ignore_ascii_case(name) // E1
        };
        self.agents.iter().find(same)
    }

    fn issue(&mut self, role: &str, project: Option<i64>, agent: Option<i64>, name: &str) -> i64 {
        let id = count(&self.tokens) + 1;
        self.tokens.push(Token {
            id,
            role: role.to_owned(),
            project,
            agent,
            name: name.to_owned(),
            created_us: self.now_us,
            revoked_us: None,
            revision: 1,
        });
        self.seq += 1;
        id
    }

    fn revoke_all(&mut self, agent: i64) {
        let living = |token: &&mut Token| token.agent == Some(agent) && token.revoked_us.is_none();
        for token in self.tokens.iter_mut().filter(living) {
            token.revoked_us = Some(self.now_us);
            token.revision += 1;
            self.seq += 1;
        }
    }

    /// Returns an agent that is known to exist.
    pub fn agent(&self, id: i64) -> &Agent {
        let found = self.agents.iter().find(|agent| agent.id == id);
        found.expect("the model's own agent")
    }

    fn agent_mut(&mut self, id: i64) -> &mut Agent {
        let found = self.agents.iter_mut().find(|agent| agent.id == id);
        found.expect("the model's own agent")
    }

    fn project_mut(&mut self, id: i64) -> &mut Project {
        let found = self.projects.iter_mut().find(|project| project.id == id);
        found.expect("the model's own project")
    }

    fn done(&self, id: i64, revision: i64) -> Done {
        Done {
            id,
            revision,
            created: None,
            token: None,
            seq: self.seq,
            replayed: false,
        }
    }
}

fn check_revision(expected: Option<i64>, present: i64) -> Result<(), Refusal> {
    if expected.is_none_or(|expected| expected == present) {
        return Ok(());
    }
    Err(Refusal {
        code: "version_conflict",
        about: Some(present),
    })
}

fn count<T>(items: &[T]) -> i64 {
    i64::try_from(items.len()).expect("a small number")
}
