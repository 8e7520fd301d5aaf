//! Random sequences of commands, answered alike by the kernel and by a plain model.
//!
//! `COMITY_MODEL_CASES` says how many sequences, `COMITY_SEED` which.

use std::collections::BTreeMap;

use comity_domain::{AgentId, ProjectId, TokenId};
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::agent::{GetAgent, ListAgents, RegisterAgent, RetireAgent, UpdateAgent};
use comity_kernel::agent::{RotateToken, table as agents};
use comity_kernel::command::Secret;
use comity_kernel::project::{EnsureProject, ListProjects, UpdateProject, table as projects};
use comity_kernel::token::{CreateToken, ListTokens, RevokeToken, table as tokens};
use comity_kernel::{Actor, Caller, Command, Error};
use comity_testkit::kit::request;
use comity_testkit::model::{
    Agent, AgentBy, Done, Expected, Model, Party, Profile, ProfileChanges, Project, ProjectChanges,
    Refusal, Request, Step, Token, Who, Word,
};
use comity_testkit::{Engine, Kit, both_engines};
use proptest::collection::{btree_set, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};

/// The wall time at which the test clock starts.
const START_US: i64 = 1_800_000_000_000_000;
const HOUR_US: i64 = 60 * 60 * 1_000_000;
const MINUTE_MS: i64 = 60 * 1_000;

const KEYS: &[Word] = &["/srv/web", "/opt/web", "web", "/srv/my.app", "/srv/my-app"];
const PROJECTS: &[Word] = &["/srv/web", "/opt/web", "web", "web-2", "my-app", "nowhere"];
const NAMES: &[Word] = &["Blue", "bLUE", "Red", "Green", "green"];
const TEXTS: &[Word] = &["one", "two", "drei \u{2713}"];

/// One thing that happens.
#[derive(Clone, Debug)]
enum Move {
    /// A command.
    Do(Step),
    /// The command before the last few once more, key and all.
    Again(usize),
    /// Time passes: first answers are kept for a day.
    Pass(i64),
    /// The upkeep of an ordinary minute, which nobody may notice.
    Tidy,
    /// A restart, which nobody may notice.
    Restart,
}

both_engines! {
    // A6 C1 C2 E1 E3 E5 I1
    fn the_kernel_answers_as_the_model_does(engine) {
        let mut config = Config {
            cases: number_from("COMITY_MODEL_CASES").unwrap_or(48),
            max_shrink_iters: 500,
            failure_persistence: None,
            ..Config::default()
        };
        println!("model: {} sequences, {engine:?}", config.cases);
        if let Some(seed) = number_from("COMITY_SEED") {
            config.rng_seed = RngSeed::Fixed(seed.into());
        }
        let outcome = TestRunner::new(config).run(&vec(a_move(), 1..=40), |moves| {
            Run::new(engine).all(&moves);
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }
}

fn number_from(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

// The strategies.

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        40 => a_step().prop_map(Move::Do),
        15 => (0..5_usize).prop_map(Move::Again),
        2 => (1..30_i64).prop_map(Move::Pass),
        1 => Just(Move::Tidy),
        1 => Just(Move::Restart),
    ]
}

fn a_step() -> BoxedStrategy<Step> {
    let who = prop_oneof![
        4 => Just(Who::Directory),
        5 => (1..=10_i64).prop_map(Who::Token),
    ];
    let key = weighted(0.5, 1..=2_u8);
    let asked = prop_oneof![3 => (who, a_request()).boxed(), 1 => on_itself()];
    let step = |((who, request), key)| Step { who, key, request };
    (asked, key).prop_map(step).boxed()
}

/// One of the first agents about itself; its first token has its own number.
fn on_itself() -> BoxedStrategy<(Who, Request)> {
    let request = |id| {
        let agent = AgentBy::Id(id);
        prop_oneof![
            3 => (weighted(0.5, select(NAMES)), registration()).prop_map(|(name, changes)| {
                Request::RegisterAgent { project: None, name, changes }
            }),
            3 => (profile(), weighted(0.3, 1..=3_i64)).prop_map(
                move |(changes, expected_revision)| {
                    Request::UpdateAgent { project: None, agent, changes, expected_revision }
                }
            ),
            1 => Just(Request::RotateToken { project: None, agent }),
            1 => Just(Request::RetireAgent { project: None, agent }),
        ]
    };
    (1..=3_i64)
        .prop_flat_map(move |id| (Just(Who::Token(id)), request(id)))
        .boxed()
}

fn a_request() -> BoxedStrategy<Request> {
    let project = || weighted(0.8, select(PROJECTS));
    let or_by_id = || weighted(0.3, select(PROJECTS));
    let revision = || weighted(0.3, 1..=3_i64);
    prop_oneof![
        2 => (select(KEYS), of(select(TEXTS)))
            .prop_map(|(key, name)| Request::EnsureProject { key, name }),
        2 => (project(), settings(), revision()).prop_map(|(project, changes, expected_revision)| {
            Request::UpdateProject { project, changes, expected_revision }
        }),
        5 => (project(), weighted(0.8, select(NAMES)), registration()).prop_map(
            |(project, name, changes)| Request::RegisterAgent { project, name, changes }
        ),
        4 => (or_by_id(), an_agent(), profile(), revision()).prop_map(
            |(project, agent, changes, expected_revision)| {
                Request::UpdateAgent { project, agent, changes, expected_revision }
            }
        ),
        2 => (or_by_id(), an_agent())
            .prop_map(|(project, agent)| Request::RotateToken { project, agent }),
        2 => (or_by_id(), an_agent())
            .prop_map(|(project, agent)| Request::RetireAgent { project, agent }),
        2 => (select(&["operator", "observer", "agent"][..]), of(select(PROJECTS)), of(select(TEXTS)))
            .prop_map(|(role, project, name)| Request::CreateToken { role, project, name }),
        1 => (1..=12_i64).prop_map(|id| Request::RevokeToken { id }),
    ]
    .boxed()
}

fn an_agent() -> impl Strategy<Value = AgentBy> {
    prop_oneof![
        3 => (1..=5_i64).prop_map(AgentBy::Id),
        1 => select(NAMES).prop_map(AgentBy::Name),
    ]
}

fn settings() -> impl Strategy<Value = ProjectChanges> {
    (
        of(select(TEXTS)),
        of(any::<bool>()),
        of(select(&["block", "warn", "off"][..])),
        of(select(&[1, 15, 20_000][..])),
        of(select(&[0, 5, 1_000][..])),
    )
        .prop_map(
            |(name, case_insensitive, guard_mode, grace_minutes, leases_per_agent)| {
                ProjectChanges {
                    name,
                    case_insensitive,
                    guard_mode,
                    grace_minutes,
                    leases_per_agent,
                }
            },
        )
}

/// A profile with what registering cannot do without.
fn registration() -> impl Strategy<Value = ProfileChanges> {
    profile().prop_map(|changes| ProfileChanges {
        program: changes.program.or(Some("one")),
        model: changes.model.or(Some("one")),
        ..changes
    })
}

fn profile() -> impl Strategy<Value = ProfileChanges> {
    (
        weighted(0.3, select(TEXTS)),
        weighted(0.3, select(TEXTS)),
        weighted(0.3, select(TEXTS)),
        weighted(0.3, btree_set(select(TEXTS), 0..=2)),
        weighted(0.3, 0..=2_u8),
        weighted(0.3, any::<bool>()),
    )
        .prop_map(
            |(program, model, task, capabilities, mark, orchestrate)| ProfileChanges {
                program,
                model,
                task,
                capabilities,
                mark,
                orchestrate,
            },
        )
}

/// Two projects, three agents and three tokens to begin with; the kinds of caller there are.
fn prelude() -> Vec<Request> {
    let ensure = |key| Request::EnsureProject { key, name: None };
    let register = |project, name, orchestrate| Request::RegisterAgent {
        project: Some(project),
        name: Some(name),
        changes: ProfileChanges {
            program: Some("one"),
            model: Some("one"),
            orchestrate: Some(orchestrate),
            ..ProfileChanges::default()
        },
    };
    let token = |role, project| Request::CreateToken {
        role,
        project,
        name: None,
    };
    vec![
        ensure("/srv/web"),
        ensure("/opt/web"),
        register("/srv/web", "Blue", false),
        register("/srv/web", "Red", true),
        register("/opt/web", "Blue", false),
        token("operator", None),
        token("observer", Some("web")),
        token("observer", None),
    ]
}

/// A kernel and a model that see the same steps.
struct Run {
    kit: Kit,
    model: Model,
    /// Each token that was handed out, and who it stood for then.
    handed_out: BTreeMap<i64, (String, Actor)>,
}

/// What is read off an answer beside what every answer has.
struct View {
    id: i64,
    revision: i64,
    created: Option<bool>,
    made_up: Option<String>,
}

impl Run {
    fn new(engine: Engine) -> Self {
        Self {
            kit: Kit::new(engine),
            model: Model::new(START_US),
            handed_out: BTreeMap::new(),
        }
    }

    fn all(mut self, moves: &[Move]) {
        let mut taken = Vec::new();
        for request in prelude() {
            let step = Step {
                who: Who::Directory,
                key: None,
                request,
            };
            self.step(&step);
            taken.push(step);
        }
        for one in moves {
            match one {
                Move::Do(step) => {
                    self.step(step);
                    taken.push(step.clone());
                }
                Move::Again(back) => self.step(&taken[taken.len() - 1 - back]),
                Move::Pass(hours) => {
                    self.model.pass_us(hours * HOUR_US);
                    self.kit.clock.advance_us(hours * HOUR_US);
                }
                Move::Tidy => self.kit.kernel().tidy().wait().expect("upkeep"),
                Move::Restart => self.kit.restart(),
            }
        }
        self.compare_lists();
    }

    fn step(&mut self, step: &Step) {
        let actor = self.authenticated(step.who);
        let expected = self.model.apply(step);
        let Some(actor) = actor else {
            let unauthorized = Refusal {
                code: "unauthorized",
                about: None,
            };
            assert_eq!(expected, Expected::Refused(unauthorized), "{step:?}");
            self.stale(step);
            return;
        };
        let got = self.perform(caller(actor, step.key), &step.request);
        assert_eq!(got, expected, "{step:?}");
    }

    /// Presents the step's credential as a surface does: with every request, before it.
    fn authenticated(&self, who: Who) -> Option<Actor> {
        let Who::Token(id) = who else {
            return Some(Actor::OPERATOR);
        };
        let unknown = || format!("comity_{id}_{}", "0".repeat(64));
        let known = self.handed_out.get(&id).map(|(secret, _)| secret.clone());
        let presented = known.unwrap_or_else(unknown);
        let actor = match self.kit.kernel().authenticate(&presented).wait() {
            Ok(read) => Some(read.answer),
            Err(Error::Unauthorized) => None,
            Err(error) => panic!("{error}"),
        };
        let expected = self.model.party(who).map(|party| actor_of(party, id));
        assert_eq!(actor, expected, "{who:?}"); // E5
        actor
    }

    /// A token that was good a moment ago must not act either (E5).
    fn stale(&mut self, step: &Step) {
        let Who::Token(id) = step.who else { return };
        let Some((_, actor)) = self.handed_out.get(&id).cloned() else {
            return;
        };
        let got = self.perform(caller(actor, step.key), &step.request);
        let Expected::Refused(refusal) = got else {
            panic!("a revoked token acted: {step:?}: {got:?}");
        };
        let codes = ["unauthorized", "forbidden"];
        assert!(codes.contains(&refusal.code), "{step:?}: {refusal:?}");
    }

    fn perform(&mut self, caller: Caller, asked: &Request) -> Expected {
        let wire = asked.wire();
        match asked {
            Request::EnsureProject { .. } => {
                self.run(caller, request::<EnsureProject>(&wire), |answer| View {
                    created: Some(answer.created),
                    ..View::of(answer.project.id.get(), answer.project.revision)
                })
            }
            Request::UpdateProject { .. } => {
                self.run(caller, request::<UpdateProject>(&wire), |answer| {
                    View::of(answer.project.id.get(), answer.project.revision)
                })
            }
            Request::RegisterAgent { name, .. } => {
                let made_up = name.is_none();
                self.run(caller, request::<RegisterAgent>(&wire), |answer| View {
                    created: Some(answer.created),
                    made_up: made_up.then(|| answer.agent.name.clone()),
                    ..View::of(answer.agent.id.get(), answer.agent.revision)
                })
            }
            Request::UpdateAgent { .. } => {
                self.run(caller, request::<UpdateAgent>(&wire), |answer| {
                    View::of(answer.agent.id.get(), answer.agent.revision)
                })
            }
            Request::RotateToken { .. } => {
                self.run(caller, request::<RotateToken>(&wire), |answer| {
                    View::of(answer.token.id.get(), answer.token.revision)
                })
            }
            Request::RetireAgent { .. } => {
                self.run(caller, request::<RetireAgent>(&wire), |answer| {
                    View::of(answer.agent.id.get(), answer.agent.revision)
                })
            }
            Request::CreateToken { .. } => {
                self.run(caller, request::<CreateToken>(&wire), |answer| {
                    View::of(answer.token.id.get(), answer.token.revision)
                })
            }
            Request::RevokeToken { .. } => {
                self.run(caller, request::<RevokeToken>(&wire), |answer| {
                    View::of(answer.token.id.get(), answer.token.revision)
                })
            }
        }
    }

    fn run<C: Command>(
        &mut self,
        caller: Caller,
        command: C,
        view: impl Fn(&C::Answer) -> View,
    ) -> Expected {
        let reply = match self.kit.run_as(caller, command) {
            Ok(reply) => reply,
            Err(error) => return Expected::Refused(refusal(&error)),
        };
        let view = view(&reply.answer);
        let secret = C::secret(&reply.answer).and_then(Secret::token);
        let token = secret.map(|issued| {
            let secret = issued.secret.reveal();
            let read = self.kit.kernel().authenticate(&secret).wait();
            let actor = read.expect("a new token is good").answer;
            let id = issued.secret.id().get();
            self.handed_out.insert(id, (secret, actor));
            id
        });
        if let Some(name) = view.made_up.filter(|_| token.is_some()) {
            assert!(self.model.learn_name(view.id, &name), "{name} was taken");
        }
        Expected::Done(Done {
            id: view.id,
            revision: view.revision,
            created: view.created,
            token,
            seq: reply.seq.get(),
            replayed: reply.replayed,
        })
    }

    /// Everything there is, page by page, is what the model has.
    fn compare_lists(&self) {
        let read = self.kit.ask(ListProjects::default()).expect("projects");
        let found: Vec<_> = read.answer.items.iter().map(project).collect();
        assert_eq!(found, self.model.projects);
        assert_eq!(read.as_of_seq.get(), self.model.seq); // I1
        for one in &self.model.projects {
            let here = |agent: &&Agent| agent.project == one.id && agent.retired_us.is_none();
            let expected: Vec<_> = self.model.agents.iter().filter(here).cloned().collect();
            assert_eq!(self.agents_of(&one.key), expected);
        }
        for one in &self.model.agents {
            let get: GetAgent = request(&json!({ "agent": one.id }));
            let shown = self.kit.ask(get).expect("an agent").answer.agent;
            assert_eq!(agent(&shown.agent), *one);
        }
        let mut found = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let list: ListTokens = request(&json!({ "limit": 4, "after": after }));
            let page = self.kit.ask(list).expect("tokens").answer;
            found.extend(page.items.iter().map(token));
            let Some(next) = page.next else { break };
            after = next;
        }
        assert_eq!(found, self.model.tokens);
    }

    fn agents_of(&self, project: &str) -> Vec<Agent> {
        let mut found = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let list: ListAgents =
                request(&json!({ "project": project, "limit": 2, "after": after }));
            let page = self.kit.ask(list).expect("agents").answer;
            found.extend(page.items.iter().map(|seen| agent(&seen.agent)));
            let Some(next) = page.next else { return found };
            after = next;
        }
    }
}

impl View {
    const fn of(id: i64, revision: i64) -> Self {
        Self {
            id,
            revision,
            created: None,
            made_up: None,
        }
    }
}

fn caller(actor: Actor, key: Option<u8>) -> Caller {
    match key {
        Some(key) => {
            let key = IdempotencyKey::parse(format!("key-{key}")).expect("a key");
            Caller::from(actor).with_key(key)
        }
        None => actor.into(),
    }
}

fn actor_of(party: Party, token: i64) -> Actor {
    let token = TokenId::new(token);
    match party {
        Party::Operator => Actor::Operator { token: Some(token) },
        Party::Agent(agent, project, orchestrate) => Actor::Agent {
            agent: AgentId::new(agent),
            project: ProjectId::new(project),
            token,
            orchestrate,
        },
        Party::Observer(project) => Actor::Observer {
            token,
            project: project.map(ProjectId::new),
        },
    }
}

fn refusal(error: &Error) -> Refusal {
    let about = match error {
        Error::NameTaken { agent, .. } => Some(*agent),
        Error::VersionConflict { present, .. } => Some(*present),
        _ => None,
    };
    Refusal {
        code: error.code().word,
        about,
    }
}

// The kernel's things as the model has them.

fn project(found: &projects::Project) -> Project {
    assert_eq!(found.guard_away.as_str(), "warn");
    Project {
        id: found.id.get(),
        key: found.key.clone(),
        slug: found.slug.to_string(),
        name: found.name.clone(),
        case_insensitive: found.case_insensitive,
        guard_mode: found.guard_mode.as_str().to_owned(),
        grace_minutes: found.grace_ms / MINUTE_MS,
        leases_per_agent: found.leases_per_agent,
        created_us: found.created_at.micros(),
        revision: found.revision,
    }
}

fn agent(found: &agents::Agent) -> Agent {
    let profile = &found.profile;
    let mark = profile.metadata.get("mark").and_then(Value::as_u64);
    Agent {
        id: found.id.get(),
        project: found.project_id.get(),
        name: found.name.clone(),
        profile: Profile {
            program: profile.program.clone(),
            model: profile.model.clone(),
            task: profile.task.clone(),
            capabilities: profile.capabilities.clone(),
            mark: mark.map(|mark| u8::try_from(mark).expect("a mark")),
            orchestrate: !profile.rights.is_empty(),
        },
        created_us: found.created_at.micros(),
        retired_us: found.retired_at.map(comity_domain::Timestamp::micros),
        revision: found.revision,
    }
}

fn token(found: &tokens::Token) -> Token {
    Token {
        id: found.id.get(),
        role: found.role.as_str().to_owned(),
        project: found.project_id.map(ProjectId::get),
        agent: found.agent_id.map(AgentId::get),
        name: found.name.clone(),
        created_us: found.created_at.micros(),
        revoked_us: found.revoked_at.map(comity_domain::Timestamp::micros),
        revision: found.revision,
    }
}
