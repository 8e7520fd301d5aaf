//! Every pair of states: what leads from one to the other, and that nothing else does (H1).

use comity_domain::{DispatchState, Outcome, Step};
use comity_testkit::both_engines;

use super::*;
use DispatchState::{Cancelled, Completed, Failed, Queued, Running, Spawned, TimedOut};

const STEPS: [Step; 7] = [
    Step::Claim,
    Step::Start,
    Step::LoseClaim,
    Step::Finish(Outcome::Completed),
    Step::Finish(Outcome::Failed),
    Step::Cancel,
    Step::TimeOut,
];

fn is_edge(from: DispatchState, to: DispatchState) -> bool {
    STEPS.iter().any(|step| from.after(*step) == Some(to))
}

/// Brings new work of a kind of its own into a state. The clock does not move.
fn in_state(shop: &Shop, kind: &str, state: DispatchState) -> Dispatch {
    let blue = &shop.team.blue;
    let made = shop.create(&json!({ "agent_kind": kind, "deadline": "10m" }));
    if state == Queued {
        return made;
    }
    if state == Cancelled {
        let cancel = json!({ "id": made.id, "expected_revision": 1 });
        shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap();
        return shop.get(made.id);
    }
    if state == TimedOut {
        shop.pass(10 * MINUTE);
        return shop.get(made.id);
    }
    let claim = shop.claim_kind(blue, kind).unwrap();
    match state {
        Running => drop(
            shop.step(blue, "start_dispatch", &claim, &json!({}))
                .unwrap(),
        ),
        Completed => drop(shop.finish(blue, &claim, "completed").unwrap()),
        Failed => drop(shop.finish(blue, &claim, "failed").unwrap()),
        _ => {}
    }
    shop.get(made.id)
}

/// Tries to bring it into another state, by whoever has it in hand, or the operator.
fn push(shop: &Shop, kind: &str, known: &Dispatch, to: DispatchState) -> Option<&'static str> {
    let operator = Actor::OPERATOR;
    let (who, claim) = match known.fence {
        Some(fence) => (&shop.team.blue, json!({ "id": known.id, "fence": fence })),
        None => (
            &operator,
            json!({ "id": known.id, "expected_revision": known.revision }),
        ),
    };
    let done = match to {
        Queued => {
            shop.pass(MINUTE);
            return None;
        }
        TimedOut => {
            shop.pass(10 * MINUTE);
            return None;
        }
        Spawned => {
            shop.claim_kind(&shop.team.green, kind);
            return None;
        }
        Running => shop.call(who, "start_dispatch", &claim),
        Completed | Failed => {
            let end = json!({ "outcome": to.as_str(), "summary": "another" });
            shop.call(who, "finish_dispatch", &with(claim, &end))
        }
        Cancelled => {
            let cancel = json!({ "id": known.id, "expected_revision": known.revision });
            shop.call(&operator, "cancel_dispatch", &cancel)
        }
    };
    done.err().map(|error| error.code().word)
}

both_engines! {
    // H1: 7 x 7 pairs by API
    fn only_the_edges_lead_from_state_to_state(engine) {
        let shop = Shop::new(engine);
        for from in DispatchState::ALL {
            for to in DispatchState::ALL {
                let kind = format!("{}-{}", from.as_str(), to.as_str());
                let known = in_state(&shop, &kind, from);
                assert_eq!(known.state, from);
                let refusal = push(&shop, &kind, &known, to);
                let now = shop.get(known.id);
                // To finish what was not started starts it first.
                let in_two_steps = (from, to) == (Spawned, Completed);
                let reached = is_edge(from, to) || in_two_steps || from == to;
                assert_eq!(now.state, if reached { to } else { from }, "{kind}");
                let expected = match (from, to) {
                    // Start again is no error; the clock and the queue refuse nobody.
                    (_, Queued | Spawned | TimedOut) | (Running, Running) => None,
                    (Completed | Failed | Cancelled | TimedOut, Completed | Failed) => Some("already_settled"),
                    _ if reached && from != to => None,
                    _ => Some("illegal_transition"),
                };
                assert_eq!(refusal, expected, "{kind}");
                if !reached || from == to {
                    assert_eq!(now.revision, known.revision, "{kind}");
                }
                if !now.state.is_final() {
                    let cancel = json!({ "id": now.id, "expected_revision": now.revision });
                    shop.call(&Actor::OPERATOR, "cancel_dispatch", &cancel).unwrap();
                }
            }
        }
    }

    // H1: the edges of the code are those of the table
    fn the_table_of_edges_is_the_function(engine) {
        let shop = Shop::new(engine);
        let mut edges = Vec::new();
        for from in DispatchState::ALL {
            for to in DispatchState::ALL {
                if is_edge(from, to) {
                    edges.push(format!("{}|{}", from.as_str(), to.as_str()));
                }
            }
        }
        edges.sort();
        let table = shop.team.kit.shell("select from_state, to_state from dispatch_edge order by 1, 2").unwrap();
        assert_eq!(table.lines().collect::<Vec<_>>(), edges);
    }
}
