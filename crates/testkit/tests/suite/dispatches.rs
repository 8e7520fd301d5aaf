//! Dispatches: work that is handed out, claimed by one, and settled once and for ever.
//!
//! `COMITY_DISPATCH_RACES` says how many dispatches are finished as their deadline passes.

use std::future::Future;
use std::time::{Duration, Instant};

use comity_kernel::dispatch::{
    CancelDispatch, ClaimDispatch, CreateDispatch, Dispatch, FinishDispatch,
};
use comity_kernel::{Actor, Error, Kernel};
use comity_testkit::Engine;
use comity_testkit::kit::request;
use serde_json::{Value, json};

use crate::team::{Happens, Team, code, withstands};

mod claims;
mod edges;
mod groups;
mod plans;
mod races;
mod schema;
mod steps;
mod waiting;
mod workers;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

/// Longer than anything here takes, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_mins(1);

/// A team with an orchestrator.
struct Shop {
    team: Team,
    chief: Actor,
}

impl Shop {
    fn new(engine: Engine) -> Self {
        Self::of(Team::new(engine))
    }

    fn of(team: Team) -> Self {
        let wish = json!({
            "project": "web", "name": "Chief", "program": "test", "model": "none",
            "rights": ["orchestrate"],
        });
        let command: comity_kernel::agent::RegisterAgent = request(&wish);
        let registered = team.kit.run(command).unwrap().answer;
        let token = registered.secret.unwrap().reveal();
        let chief = team
            .kit
            .kernel()
            .authenticate(&token)
            .wait()
            .unwrap()
            .answer;
        Self { team, chief }
    }

    fn call(&self, who: &Actor, operation: &str, request: &Value) -> Result<Value, Error> {
        self.team.call(who, operation, request)
    }

    /// Hands out work, with some fields other than usual.
    fn create(&self, other: &Value) -> Dispatch {
        let created = self.call(&self.chief, "create_dispatch", &wish(other));
        shown(created.unwrap()["dispatch"].clone())
    }

    /// Claims work of the usual kind for a minute.
    fn claim(&self, who: &Actor) -> Option<Dispatch> {
        self.claim_kind(who, "coder")
    }

    fn claim_kind(&self, who: &Actor, kind: &str) -> Option<Dispatch> {
        let wish = json!({ "agent_kinds": [kind], "lease": "1m" });
        let claimed = self.call(who, "claim_dispatch", &wish).unwrap();
        Some(claimed["dispatch"].clone())
            .filter(|dispatch| !dispatch.is_null())
            .map(shown)
    }

    /// Makes work and claims it.
    fn claimed(&self, who: &Actor, other: &Value) -> Dispatch {
        let made = self.create(other);
        let claimed = self.claim_kind(who, &made.agent_kind).expect("work");
        assert_eq!(claimed.id, made.id);
        claimed
    }

    /// Takes a step as the claimant, with more to say.
    fn step(
        &self,
        who: &Actor,
        operation: &str,
        claim: &Dispatch,
        more: &Value,
    ) -> Result<Value, Error> {
        let known = json!({ "id": claim.id, "fence": claim.fence });
        self.call(who, operation, &with(known, more))
    }

    fn finish(&self, who: &Actor, claim: &Dispatch, outcome: &str) -> Result<Value, Error> {
        self.step(
            who,
            "finish_dispatch",
            claim,
            &json!({ "outcome": outcome }),
        )
    }

    fn get(&self, id: comity_domain::DispatchId) -> Dispatch {
        let found = self.call(&self.chief, "get_dispatch", &json!({ "id": id }));
        shown(found.unwrap()["dispatch"].clone())
    }

    /// Lets time pass, and has everything written down that is due by then.
    fn pass(&self, us: i64) {
        self.team.kit.clock.advance_us(us);
        sweep(self.team.kit.kernel());
    }

    /// Makes a run of three phases.
    fn run(&self, id: i64, other: &Value) -> i64 {
        let usual = json!({
            "id": id, "project": 1, "parent": null, "goal": "ship", "gates": {},
            "phases": ["planned", "built", "done"], "token_budget": null,
            "budget_enforced": false, "max_dispatches": null, "max_per_kind": {},
            "metadata": {}, "by": null,
        });
        self.happens("run_created", with(usual, other));
        id
    }

    fn steer(&self, kind: &'static str, run: i64) {
        self.happens(kind, json!({ "id": run, "project": 1, "reason": null }));
    }

    fn happens(&self, kind: &'static str, payload: Value) {
        self.team.kit.run(Happens { kind, payload }).unwrap();
    }

    /// Counts events of a kind.
    fn count(&self, kind: &str) -> i64 {
        let sql = format!("select count(*) from event where kind = '{kind}'");
        self.team.kit.shell(&sql).unwrap().parse().unwrap()
    }
}

/// A request for work, with some fields other than usual.
fn wish(other: &Value) -> Value {
    with(json!({ "agent_kind": "coder", "prompt": "do it" }), other)
}

fn with(mut usual: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().expect("fields") {
        usual[name] = value.clone();
    }
    usual
}

fn shown(dispatch: Value) -> Dispatch {
    serde_json::from_value(dispatch).expect("a dispatch")
}

fn field(answer: &Result<Value, Error>) -> String {
    match answer {
        Err(Error::Invalid { field, .. }) => field.clone(),
        other => panic!("{other:?}"),
    }
}

/// Writes down what is due.
fn sweep(kernel: &Kernel) {
    soon(kernel.sweep()).unwrap();
}

fn soon<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, answer).await });
    answered.expect("an answer in time")
}

fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "it never came true");
        std::thread::yield_now();
    }
}
