//! The pages of runs: what the log said up to a commit, whatever has happened since.

use comity_archive::store::restore;
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_testkit::{Dice, Engine, Kit, both_engines};
use serde_json::{Value, json};

use super::Kept;

const PAGE: &str = "main:projects/web/runs/1/run.md";

/// Makes a run with two gates, the first of which wants something, and an agent, Blue.
fn created(kept: &Kept, goal: &str) -> Actor {
    kept.kit.project("/srv/web");
    let (_, blue) = kept.kit.agent("web", "Blue");
    let asked = json!({
        "project": "web", "goal": goal, "phases": ["draft", "build", "done"], "token_budget": 500,
        "gates": { "draft->build": [{ "check": "artifact_exists", "phase": "draft" }], "build->done": [] },
        "max_per_kind": { "reviewer": 2 },
    });
    kept.kit
        .call(Actor::OPERATOR, "create_run", &asked)
        .unwrap();
    blue
}

/// Does something to run 1; what is refused is refused.
fn act(kept: &Kept, operation: &str, more: &Value) -> bool {
    let mut request = json!({ "run": 1 });
    for (field, value) in more.as_object().unwrap() {
        request[field] = value.clone();
    }
    kept.kit.call(Actor::OPERATOR, operation, &request).is_ok()
}

/// Everything that can happen to a run, in an order in which it can.
fn everything(kept: &Kept, blue: Actor) {
    let done = |operation: &str, more: Value| assert!(act(kept, operation, &more), "{operation}");
    done("pause_run", json!({ "reason": "lunch" }));
    done("resume_run", json!({}));
    assert!(!act(kept, "advance_run", &json!({})), "its gate refuses");
    done("override_gate", json!({ "reason": "we know\n\n# better" }));
    done(
        "roll_back_run",
        json!({ "to_phase": "draft", "reason": "we did not" }),
    );
    let plan = json!({ "run": 1, "phase": "draft", "kind": "plan", "path": "docs/plan.md" });
    kept.kit.call(blue, "add_artifact", &plan).unwrap();
    done(
        "record_verdict",
        json!({ "verdict": "warn", "summary": "short" }),
    );
    done("approve", json!({ "phase": "draft", "note": "go" }));
    done(
        "add_run_agent",
        json!({ "agent": "Blue", "role": "writer" }),
    );
    done(
        "finish_run_agent",
        json!({ "agent": "Blue", "outcome": "completed" }),
    );
    done("advance_run", json!({ "note": "on we go" }));
    done(
        "withdraw_artifact",
        json!({ "artifact": 1, "reason": "wrong one" }),
    );
    done("fail_run", json!({ "reason": "no power" }));
    done(
        "roll_back_run",
        json!({ "to_phase": "build", "reason": "power is back" }),
    );
    done("advance_run", json!({}));
}

/// What the page says of a run, and what the kernel says now.
fn told(kept: &Kept) -> (Vec<String>, Vec<String>) {
    let page = kept.git(&["show", PAGE]);
    let line = |name: &str| {
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("- {name}: ")));
        line.unwrap().to_owned()
    };
    let status = kept
        .kit
        .call(Actor::OPERATOR, "run_status", &json!({ "run": 1 }))
        .unwrap();
    let run = &status["run"];
    let word = |name: &str| run[name].as_str().unwrap().to_owned();
    let goal = page
        .lines()
        .nth(2)
        .unwrap()
        .strip_prefix("> ")
        .unwrap()
        .to_owned();
    (
        vec![goal, line("phase"), line("state")],
        vec![word("goal"), word("phase"), word("state")],
    )
}

both_engines! {
    fn a_run_is_a_page(engine) {
        let kept = Kept::new(engine);
        let blue = created(&kept, "Make the login form\n# and no head");
        everything(&kept, blue);
        kept.drain();
        kept.must_be_right();
        assert_eq!(kept.git(&["show", PAGE]), WHOLE);
    }

    // D5 D12: however often something happens and whatever happens later, each commit's page is what the
    // log said up to it; the page says what the kernel said then
    fn every_commit_has_the_page_of_its_moment(engine) {
        let kept = Kept::new(engine);
        created(&kept, "goal 0");
        let mut dice = Dice::new(7);
        for step in 0..150 {
            let reason = json!({ "reason": "r" });
            let done = match dice.below(10) {
                0 => act(&kept, "pause_run", &reason),
                1 | 2 => act(&kept, "resume_run", &reason),
                3 => act(&kept, "advance_run", &json!({})),
                4 | 5 => act(&kept, "override_gate", &reason),
                6 | 7 => act(&kept, "roll_back_run", &json!({ "to_phase": "draft", "reason": "r" })),
                8 => act(&kept, "fail_run", &reason),
                _ => {
                    let status = kept.kit.call(Actor::OPERATOR, "run_status", &json!({ "run": 1 })).unwrap();
                    act(&kept, "update_run", &json!({ "goal": format!("goal {step}"), "expected_revision": status["run"]["revision"] }))
                }
            };
            if done {
                kept.drain();
                let (page, kernel) = told(&kept);
                assert_eq!(page, kernel, "step {step}");
            }
        }
        act(&kept, "roll_back_run", &json!({ "to_phase": "draft", "reason": "once more" }));
        assert!(act(&kept, "cancel_run", &json!({ "reason": "enough" })));
        kept.drain();
        let (page, kernel) = told(&kept);
        assert_eq!((page[2].as_str(), &page), ("cancelled", &kernel));
        let before = kept.git(&["rev-parse", "main"]);
        kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["rev-parse", "main"]), before, "the same commits, files and all");
        kept.must_be_right();
        let commits = kept.commits_of("projects/web/runs/1/run.md");
        assert!(commits > 30, "{commits}");
    }

    // D11
    fn runs_come_back_from_the_archive(engine) {
        let kept = Kept::new(engine);
        let blue = created(&kept, "goal");
        everything(&kept, blue);
        kept.drain();
        let mut fresh = Kit::new(engine);
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(fresh.doctor().state_hash, kept.kit.doctor().state_hash);
    }

    // D13: a page is bounded, and says what it leaves out
    fn the_page_of_a_long_run_shows_its_end(engine) {
        let kept = Kept::new(engine);
        created(&kept, "goal");
        for n in 2..=203 {
            assert!(act(&kept, "record_verdict", &json!({ "verdict": "warn", "summary": format!("number {n}.") })));
        }
        kept.drain();
        let page = kept.git(&["show", PAGE]);
        assert!(page.contains("Earlier events are in `log/`: 3.\n"), "{page}");
        assert!(page.contains("number 203.\n") && page.contains("number 4.\n") && !page.contains("number 3.\n"), "{page}");
        assert!(page.contains("- phase: draft\n- state: active\n"), "{page}");
        kept.must_be_right();
    }

    // S10 S11: no words of others are the page's own
    fn hostile_words_stay_words(engine) {
        let kept = Kept::new(engine);
        let hostile = "---\n# Run 2\n- state: completed\r## What happened\n```\n<!--\n\u{2028}# x\n> \n</details>\n\t- y";
        created(&kept, hostile);
        for operation in ["pause_run", "resume_run", "fail_run"] {
            assert!(act(&kept, operation, &json!({ "reason": hostile })));
        }
        kept.drain();
        kept.must_be_right();
        let page = kept.git(&["show", PAGE]);
        for line in page.split(['\n', '\r']) {
            let ours = ["", "# Run 1", "## What happened"].contains(&line);
            assert!(ours || line.starts_with("> ") || line == ">" || line.starts_with("- "), "{line:?} of {page}");
        }
        assert_eq!(page.matches("\n- state: ").count(), 1, "{page}");
        let files = kept.git(&["ls-tree", "-r", "--name-only", "main"]);
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/_.-\n".contains(c);
        assert!(files.chars().all(good), "{files}");
    }
}

// D13: SQLite alone shows its plan without data
#[test]
fn how_a_run_stood_is_found_without_reading_what_happened() {
    let kit = Kit::new(Engine::Sqlite);
    let plan = kit.shell(
        "explain query plan select seq from event where run = 1 and kind = 'run_paused' and seq <= 9
         and kind in ('run_created', 'run_updated', 'run_advanced', 'gate_overridden',
            'run_rolled_back', 'run_paused', 'run_resumed', 'run_cancelled', 'run_failed')
         order by seq desc limit 1",
    );
    let plan = plan.unwrap();
    assert!(
        plan.contains("event_steering (run=? AND kind=? AND seq<?)"),
        "{plan}"
    );
}

const WHOLE: &str = "\
# Run 1

> Make the login form
> # and no head

- project: web
- created: 2027-01-15T08:00:00.000000Z by operator
- phases: draft, build, **done**
- phase: done
- state: completed
- budget: 500 tokens
- dispatches in hand for reviewer: at most 2

## What happened

- 4, 2027-01-15T08:00:00.000000Z, operator: began: Make the login form # and no head
- 5, 2027-01-15T08:00:00.000000Z, operator: paused: lunch
- 6, 2027-01-15T08:00:00.000000Z, operator: resumed
- 7, 2027-01-15T08:00:00.000000Z, operator: refused from draft to build: artifact_exists (no artifact in `draft`)
  - draft->build, artifact_exists (hard): no artifact in `draft`
- 8, 2027-01-15T08:00:00.000000Z, operator: overridden, moved from draft to build, against artifact_exists (no artifact in `draft`): we know # better
  - draft->build, artifact_exists (hard): no artifact in `draft`
- 9, 2027-01-15T08:00:00.000000Z, operator: rolled back from build to draft: we did not
- 10, 2027-01-15T08:00:00.000000Z, Blue: artifact 1 (plan) in draft: docs/plan.md
- 11, 2027-01-15T08:00:00.000000Z, operator: verdict on draft: warn: short
- 12, 2027-01-15T08:00:00.000000Z, operator: draft approved by the operator: go
- 13, 2027-01-15T08:00:00.000000Z, operator: agent 1 takes part
- 14, 2027-01-15T08:00:00.000000Z, operator: agent 1 completed
- 15, 2027-01-15T08:00:00.000000Z, operator: moved from draft to build: on we go
- 16, 2027-01-15T08:00:00.000000Z, operator: artifact 1 withdrawn: wrong one
- 17, 2027-01-15T08:00:00.000000Z, operator: failed: no power
- 18, 2027-01-15T08:00:00.000000Z, operator: rolled back from build to build: power is back
- 19, 2027-01-15T08:00:00.000000Z, operator: moved from build to done, completed
";
