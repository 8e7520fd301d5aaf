//! The desk of `comity mcp`: speaks for one agent, through a door that is opened for each call.
//!
//! Nothing is held between calls, so a server can start and stop meanwhile (A7). The operator's
//! right, which the data directory gives, is used to get in and for nothing else.

mod identity;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use comity_domain::AgentName;
use comity_domain::token::to_hex;
use comity_kernel::Error;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::ambient::Ambient;
use comity_kernel::operation::Operation;
use comity_kernel::project::ProjectRef;
use comity_server::mcp::{Answer, Desk, Join, McpCaller};
use serde_json::Value;
use tokio::sync::Semaphore;

use self::identity::Identity;
use crate::door::Tags;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::session::Context;
use crate::who::{self, Who};

/// Calls that are worked on at the same time; others wait for their turn.
const CALLS_AT_ONCE_MAX: usize = 8;

/// How long a call is made anew whose server went away before it answered.
const INSIST_FOR: Duration = Duration::from_secs(5);
/// How long to wait before it is.
const PAUSE: Duration = Duration::from_millis(20);

/// Speaks for one agent.
#[derive(Clone)]
pub(crate) struct Envoy(Arc<Mission>);

/// What an envoy was sent with, and whom it turned out to speak for.
struct Mission {
    globals: Globals,
    directory: PathBuf,
    /// The only name it may take, if it was told one.
    name: Option<AgentName>,
    /// Held while joining: two first calls at the same time are one agent.
    identity: Mutex<Identity>,
    turns: Arc<Semaphore>,
}

impl Envoy {
    /// Makes the envoy of a process.
    pub(crate) fn new(context: &Context<'_>) -> Result<Self, Failure> {
        let mut globals = context.globals.clone();
        if globals.url.is_some() {
            // A URL that is wrong or exposed is said once, at the start.
            context.door()?;
            globals.quiet = true;
        }
        let name = who::named(&globals)?;
        let identity = match (&name, who::token_given()?) {
            (None, Some(token)) => Identity::Given(token),
            _ => Identity::Nobody,
        };
        Ok(Self(Arc::new(Mission {
            globals,
            directory: context.directory.clone(),
            name,
            identity: Mutex::new(identity),
            turns: Arc::new(Semaphore::new(CALLS_AT_ONCE_MAX)),
        })))
    }

    /// Does work that waits, on a thread of its own; a caller that goes away does not stop it.
    fn work(
        &self,
        work: impl FnOnce(&Mission) -> Result<Value, Failure> + Send + 'static,
    ) -> Answer {
        let mission = Arc::clone(&self.0);
        Box::pin(async move {
            let turn = Arc::clone(&mission.turns).acquire_owned().await;
            let done = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                work(&mission)
            });
            let done = done.await.unwrap_or_else(|error| {
                Err(Error::internal(error).numbered(&Ambient::system()).into())
            });
            done.map_err(|failure| failure.body)
        })
    }
}

impl Desk for Envoy {
    fn call(&self, caller: McpCaller, operation: &'static Operation, request: Value) -> Answer {
        self.work(move |mission| mission.call(&caller, operation, &request))
    }

    fn join(&self, caller: McpCaller, join: Join) -> Answer {
        self.work(move |mission| {
            let mut identity = mission.identity();
            let joined = mission.enter(&identity, &caller, &join)?;
            identity.is_now(joined.file.as_ref());
            Ok(joined.answer("you"))
        })
    }
}

impl Mission {
    fn call(
        &self,
        caller: &McpCaller,
        operation: &'static Operation,
        request: &Value,
    ) -> Result<Value, Failure> {
        let who = self.who(caller)?;
        let own_key = || operation.effect.writes().then(random_key).flatten();
        let tags = Tags {
            key: caller.idempotency_key()?.or_else(own_key),
            correlation: caller.trace(),
        };
        let context = self.context(&self.globals, tags)?;
        self.insist(|| context.door()?.call(&who, operation, request.clone()))
    }

    /// Tries again, by the way that is open then, while the server is on its way out.
    ///
    /// What is tried takes effect once: by its key, or because joining again is the same agent.
    fn insist<T>(&self, attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        let started = Instant::now();
        loop {
            let done = attempt();
            let is_away = done.as_ref().is_err_and(|failure| failure.is_away);
            if !is_away || self.globals.url.is_some() || started.elapsed() > INSIST_FOR {
                return done;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Says who calls; an agent whose name is known gets in by its first call.
    fn who(&self, caller: &McpCaller) -> Result<Who, Failure> {
        let mut identity = self.identity();
        if let (Identity::Nobody, Some(_)) = (&*identity, &self.name) {
            let joined = self.enter(&identity, caller, &Join::default())?;
            identity.is_now(joined.file.as_ref());
        }
        identity.who()
    }

    fn identity(&self) -> MutexGuard<'_, Identity> {
        // A call that broke off left it as it was: it is replaced as a whole.
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context<'a>(&self, globals: &'a Globals, tags: Tags) -> Result<Context<'a>, Error> {
        let context = Context::at(self.directory.clone(), globals)?;
        Ok(Context { tags, ..context })
    }

    /// Returns the options as if `project` had been among them.
    fn globals_in(&self, project: Option<ProjectRef>) -> Globals {
        let mut globals = self.globals.clone();
        globals.project = project.or(globals.project);
        globals
    }

    /// Tells whether the operator's right is at hand: that of the directory, or over a URL a token.
    fn can_admit(&self) -> bool {
        self.globals.url.is_none() || self.directory.join("operator.token").exists()
    }
}

/// Makes a key for a call that came without one.
fn random_key() -> Option<IdempotencyKey> {
    let random = Ambient::system().random::<16>();
    IdempotencyKey::parse(to_hex(&random)).ok()
}
