//! Presence: in memory, flushed now and then, off the log.

use comity_kernel::agent::{GetAgent, Heartbeat, ListAgents, Orient};
use comity_kernel::options::Sharing;
use comity_testkit::kit::{register, request};
use comity_testkit::{Kit, both_engines};
use serde_json::json;

const SECOND: i64 = 1_000_000;

both_engines! {
    fn any_call_is_a_sign_of_life(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (agent, blue) = kit.agent("web", "Blue");
        kit.clock.advance_us(60 * SECOND);
        kit.ask_as(blue.clone(), Orient {}).unwrap();
        let get: GetAgent = request(&json!({ "agent": "Blue" }));
        let seen = kit.ask_as(blue, get).unwrap().answer.agent;
        assert_eq!(seen.last_seen.micros() - agent.created_at.micros(), 60 * SECOND);
    }

    fn a_heartbeat_says_what_the_agent_is_at(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let beat: Heartbeat = request(&json!({ "status": "working", "focus": "src/auth" }));
        kit.ask_as(blue.clone(), beat).unwrap();
        kit.ask_as(blue.clone(), Heartbeat::default()).unwrap();
        let get: GetAgent = request(&json!({ "agent": "Blue" }));
        let seen = kit.ask_as(blue, get).unwrap().answer.agent;
        assert_eq!((seen.status.as_str(), seen.focus.as_str()), ("working", "src/auth"));
    }

    // C1: presence is off the log
    fn a_flush_survives_a_restart_and_leaves_no_event(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let before = kit.kernel().head().borrow().get();
        kit.clock.advance_us(60 * SECOND);
        let beat: Heartbeat = request(&json!({ "status": "working" }));
        kit.ask_as(blue.clone(), beat).unwrap();
        kit.restart();
        let get: GetAgent = request(&json!({ "agent": "Blue", "project": "web" }));
        let seen = kit.ask(get).unwrap().answer.agent;
        assert_eq!((seen.status.as_str(), kit.kernel().head().borrow().get()), ("working", before));
        assert!(seen.last_seen > seen.agent.created_at);
    }

    // a last-seen that nobody knows counts as now after a restart
    fn nobody_passes_for_silent_because_of_a_restart(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Silent")).unwrap();
        kit.stop();
        kit.clock.advance_us(3_600 * SECOND);
        kit.restart();
        let list: ListAgents = request(&json!({ "project": "web", "active_within": "10m" }));
        assert_eq!(kit.ask(list).unwrap().answer.items.len(), 1);
    }

    // F5: at most one write per agent and 10 s
    fn signs_of_life_are_written_seldom(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let stored = || kit.shell("select seen_at from presence").unwrap();
        kit.ask_as(blue.clone(), Orient {}).unwrap();
        kit.kernel().tidy().wait().unwrap();
        let first = stored();
        kit.clock.advance_us(9 * SECOND);
        kit.ask_as(blue.clone(), Orient {}).unwrap();
        let beat: Heartbeat = request(&json!({ "status": "working" }));
        kit.ask_as(blue.clone(), beat).unwrap();
        kit.kernel().tidy().wait().unwrap();
        assert_eq!(stored(), first);
        kit.clock.advance_us(SECOND);
        kit.ask_as(blue, Orient {}).unwrap();
        kit.kernel().tidy().wait().unwrap();
        assert_ne!(stored(), first);
    }

    // F5: kernels that live for one question each write no more than one that stays
    fn short_lives_write_signs_of_life_as_seldom(engine) {
        let mut kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let beat: Heartbeat = request(&json!({ "status": "working" }));
        kit.ask_as(blue.clone(), beat).unwrap();
        kit.stop();
        let stored = |kit: &Kit| kit.shell("select seen_at, status from presence").unwrap();
        let first = stored(&kit);
        assert!(first.trim().ends_with("|working"), "{first}");
        kit.clock.advance_us(9 * SECOND);
        kit.restart();
        kit.ask_as(blue.clone(), Orient {}).unwrap();
        kit.stop();
        assert_eq!(stored(&kit), first);
        kit.clock.advance_us(SECOND);
        kit.restart();
        kit.ask_as(blue.clone(), Orient {}).unwrap();
        kit.stop();
        let second = stored(&kit);
        assert_ne!(second, first);
        assert!(second.trim().ends_with("|working"), "what it was at stays known: {second}");
        kit.clock.advance_us(SECOND);
        kit.restart();
        let beat: Heartbeat = request(&json!({ "status": "resting" }));
        kit.ask_as(blue, beat).unwrap();
        kit.stop();
        assert!(stored(&kit).trim().ends_with("|resting"), "what is said is not lost");
    }

    fn lists_filter_by_activity(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Silent")).unwrap();
        let (_, blue) = kit.agent("web", "Blue");
        kit.clock.advance_us(3_600 * SECOND);
        kit.ask_as(blue, Orient {}).unwrap();
        let list: ListAgents = request(&json!({ "project": "web", "active_within": "10m" }));
        let names: Vec<_> = kit.ask(list).unwrap().answer.items.into_iter().map(|seen| seen.agent.name).collect();
        assert_eq!(names, ["Blue"]);
    }
}
