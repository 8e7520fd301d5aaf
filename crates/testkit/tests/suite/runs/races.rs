//! Runs under contention: one winner, and no move on evidence that is gone.
//!
//! `COMITY_ADVANCE_ROUNDS` says how often 64 callers advance one run.

use std::sync::Barrier;

use comity_kernel::failpoint::Failpoints;
use comity_kernel::options::Sharing;
use comity_kernel::run::{AdvanceRun, RollBackRun, WithdrawArtifact};
use comity_kernel::{Command, Kernel};
use comity_testkit::Kit;
use comity_testkit::kit::request;

use super::*;

const CALLERS: usize = 64;

fn rounds() -> usize {
    let set = std::env::var("COMITY_ADVANCE_ROUNDS").ok();
    set.map_or(10, |rounds| rounds.parse().expect("a number of rounds"))
}

/// A team whose database other kernels may open too.
fn shared(engine: Engine) -> Team {
    let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
    Team::of(kit)
}

/// Opens another kernel on the same database; a gate that holds the one does not hold the other.
fn second(kit: &Kit) -> Kernel {
    let mut options = kit.options().clone();
    options.sharing = Sharing::Shared;
    options.ambient.failpoints = Failpoints::default();
    Kernel::open(options).unwrap()
}

fn from_plan(run: i64) -> AdvanceRun {
    request(&json!({ "run": run, "expected_phase": "plan" }))
}

/// Holds an advance between its gate and its move, lets somebody take the evidence away, and
/// returns what came of both.
fn between<C: Command>(team: &Team, other: &Kernel, run: i64, taken: C) -> [&'static str; 2] {
    let gate = team
        .kit
        .options()
        .ambient
        .failpoints
        .pause("advance.after_gate");
    let advance = team.kit.kernel().execute(BOSS.into(), from_plan(run));
    gate.wait_until_hit();
    let taken = other.execute(BOSS.into(), taken);
    gate.open();
    let word = |failed: Option<Error>| failed.map_or("ok", |error| error.code().word);
    let came = [word(advance.wait().err()), word(taken.wait().err())];
    team.kit
        .options()
        .ambient
        .failpoints
        .clear("advance.after_gate");
    came
}

both_engines! {
    // G3: of 64 who advance one run at once, one wins
    fn of_many_advances_one_wins(engine) {
        let team = shared(engine);
        let other = second(&team.kit);
        for _ in 0..rounds() {
            let run = team.free_run();
            let barrier = Barrier::new(2);
            let half = |kernel: &Kernel| {
                barrier.wait();
                let tickets: Vec<_> = (0..CALLERS / 2)
                    .map(|_| kernel.execute(BOSS.into(), from_plan(run)))
                    .collect();
                tickets.into_iter().map(|ticket| ticket.wait().map(|_| ())).collect::<Vec<_>>()
            };
            let answers = std::thread::scope(|scope| {
                let here = scope.spawn(|| half(team.kit.kernel()));
                let there = scope.spawn(|| half(&other));
                [here.join().unwrap(), there.join().unwrap()].concat()
            });
            let won = answers.iter().filter(|answer| answer.is_ok()).count();
            assert_eq!(won, 1);
            let lost = answers.iter().filter_map(|answer| answer.as_ref().err());
            assert!(lost.into_iter().all(|error| error.code().word == "stale_phase"));
            assert_eq!(team.kinds(run), ["run_created", "run_advanced"]);
        }
    }

    // G1 L3: evidence that is taken away between check and move waits for the move
    fn evidence_cannot_go_between_check_and_move(engine) {
        let team = shared(engine);
        let other = second(&team.kit);
        let checks = json!([{ "check": "artifact_exists", "phase": "plan" }]);
        for kernel in [team.kit.kernel(), &other] {
            let run = team.run(&gated("g", &checks, &json!([])));
            let artifact = team.artifact(run, "plan");
            let withdraw: WithdrawArtifact = request(&json!({ "run": run, "artifact": artifact }));
            assert_eq!(between(&team, kernel, run, withdraw), ["ok", "ok"]);
            assert_eq!(
                team.kinds(run),
                ["run_created", "artifact_added", "run_advanced", "artifact_withdrawn"]
            );
        }
    }

    // G6 L3: a child is not re-opened under its parent's gate
    fn a_child_cannot_be_reopened_between_check_and_move(engine) {
        let team = shared(engine);
        let other = second(&team.kit);
        for kernel in [team.kit.kernel(), &other] {
            let mut request_ = gated("p", &json!([{ "check": "children_at_phase", "phase": "work" }]), &json!([]));
            let mut child = free("c");
            child["project"] = Value::Null;
            request_["children"] = json!([child]);
            let created = team.call(&BOSS, "create_run", &request_).unwrap();
            let parent = created["run"]["id"].as_i64().unwrap();
            let child = created["children"][0]["id"].as_i64().unwrap();
            team.advance(child).unwrap();
            let back: RollBackRun = request(&json!({ "run": child, "to_phase": "plan", "reason": "r" }));
            assert_eq!(between(&team, kernel, parent, back), ["ok", "ok"]);
            assert_eq!((team.phase(parent), team.phase(child)), ("work".into(), "plan".into()));
        }
    }

    // G2: an agent that comes while the gate is looked at is too late for it, not lost
    fn an_agent_cannot_join_between_check_and_move(engine) {
        let team = shared(engine);
        let other = second(&team.kit);
        let checks = json!([{ "check": "agents_complete" }]);
        for kernel in [team.kit.kernel(), &other] {
            let run = team.run(&gated("g", &checks, &checks));
            let join: comity_kernel::run::AddRunAgent = request(&json!({ "run": run, "agent": "Blue" }));
            assert_eq!(between(&team, kernel, run, join), ["ok", "ok"]);
            assert_eq!(code(team.advance(run)), "gate_refused", "it counts from the next gate on");
        }
    }
}
