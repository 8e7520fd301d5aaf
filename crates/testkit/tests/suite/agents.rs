//! Agents.

use comity_domain::Right;
use comity_kernel::agent::{
    GetAgent, ListAgents, Orient, RegisterAgent, RetireAgent, RotateToken, UpdateAgent,
};
use comity_kernel::token::CreateToken;
use comity_kernel::tx::WriteTx;
use comity_kernel::{Actor, Command, Error, Party, Stop};
use comity_testkit::kit::{operator_with_key, register, request};
use comity_testkit::{Kit, both_engines};
use serde::Serialize;
use serde_json::json;

fn code(error: &Error) -> &'static str {
    error.code().word
}

/// A command for agents with the right `orchestrate`.
#[derive(Serialize)]
struct Steer;

impl Command for Steer {
    const NAME: &'static str = "steer";
    const WHO: &'static [Party] = &[Party::Orchestrator];
    type Answer = ();

    fn decide(&self, _tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        Ok(())
    }
}

both_engines! {
    // E1 A6
    fn a_name_is_taken_once_whatever_its_case(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        assert!(kit.run(register("web", "Blue")).unwrap().answer.created);
        let again = kit.run(register("/srv/web", "bLUE")).unwrap_err().to_json();
        assert_eq!(again["error"], "name_taken");
        assert_eq!(again["name"], "Blue");
        kit.project("/srv/api");
        assert!(kit.run(register("api", "blue")).unwrap().answer.created);
    }

    fn what_is_answered_is_what_is_stored(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let full: RegisterAgent = request(&json!({
            "project": "web", "name": "Blue", "program": "codex", "model": "m", "task": "auth\nfirst",
            "capabilities": ["rust", "ada"], "metadata": {"z": 1.5, "a": [null]}, "rights": ["orchestrate"],
        }));
        let answered = kit.run(full).unwrap().answer.agent;
        let get: GetAgent = request(&json!({ "agent": "BLUE", "project": "web" }));
        let shown = kit.ask(get).unwrap().answer.agent;
        assert_eq!(shown.agent, answered);
        assert_eq!(shown.last_seen, answered.created_at);
        assert!(answered.profile.rights.contains(&Right::Orchestrate));
    }

    fn without_a_name_a_readable_one_is_made(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let unnamed: RegisterAgent =
            request(&json!({ "project": "web", "program": "codex", "model": "m" }));
        let names: Vec<_> = (0..3)
            .map(|_| kit.run(unnamed.clone()).unwrap().answer.agent.name)
            .collect();
        assert!(names.iter().all(|name| name.contains('-')), "{names:?}");
        assert!(names[0] != names[1] && names[1] != names[2]);
    }

    // E3: resuming needs the token; it is the same agent, updated, nothing lost
    fn a_name_is_resumed_by_its_token_only(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (blue, actor) = kit.agent("web", "Blue");
        let resume: RegisterAgent = request(&json!({
            "name": "blue", "program": "codex", "model": "new", "task": "review",
        }));
        let resumed = kit.run_as(actor.clone(), resume.clone()).unwrap().answer;
        assert!(!resumed.created && resumed.secret.is_none());
        assert_eq!((resumed.agent.id, resumed.agent.revision), (blue.id, 2));
        assert_eq!(resumed.agent.profile.model, "new");
        // Again without a difference: no event.
        assert_eq!(kit.run_as(actor.clone(), resume).unwrap().answer.agent.revision, 2);
        let other = kit.run_as(actor, register("web", "Red")).unwrap_err();
        assert_eq!(code(&other), "forbidden");
    }

    // E5
    fn an_agent_cannot_give_itself_rights(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, actor) = kit.agent("web", "Blue");
        let claim: UpdateAgent = request(&json!({ "agent": "Blue", "rights": ["orchestrate"] }));
        assert_eq!(code(&kit.run_as(actor, claim.clone()).unwrap_err()), "forbidden");
        let mut given = claim;
        given.project = Some(request(&json!("web")));
        assert_eq!(kit.run(given).unwrap().answer.agent.profile.rights.len(), 1);
    }

    // E5
    fn an_agent_changes_only_itself(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        kit.agent("web", "Red");
        let update = |agent: &str| request::<UpdateAgent>(&json!({ "agent": agent, "task": "x" }));
        assert_eq!(code(&kit.run_as(blue.clone(), update("Red")).unwrap_err()), "forbidden");
        assert!(kit.run_as(blue, update("Blue")).is_ok());
    }

    // E5: a right taken away is gone at once, whatever the caller still holds
    fn rights_are_those_of_the_moment(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let rights = |rights: &[&str]| {
            let fields = json!({ "agent": "Blue", "project": "web", "rights": rights });
            kit.run(request::<UpdateAgent>(&fields)).unwrap();
        };
        let (_, blue) = kit.agent("web", "Blue");
        assert_eq!(code(&kit.run_as(blue.clone(), Steer).unwrap_err()), "forbidden");
        rights(&["orchestrate"]);
        let Actor::Agent { agent, project, token, .. } = blue else { panic!("an agent") };
        let believes = Actor::Agent { agent, project, token, orchestrate: true };
        assert!(kit.run_as(believes.clone(), Steer).is_ok());
        rights(&[]);
        assert_eq!(code(&kit.run_as(believes, Steer).unwrap_err()), "forbidden");
    }

    fn a_profile_changes_where_it_is_given(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let update = |fields| kit.run_as(blue.clone(), request::<UpdateAgent>(&fields));
        let with = update(json!({ "agent": 1, "capabilities": ["a", "b"], "task": "t" })).unwrap();
        let without = update(json!({ "agent": 1, "capabilities": [] })).unwrap().answer.agent;
        assert_eq!(with.answer.agent.profile.capabilities.len(), 2);
        assert!(without.profile.capabilities.is_empty());
        assert_eq!((without.profile.task.as_str(), without.revision), ("t", 3));
        let stale = update(json!({ "agent": 1, "task": "u", "expected_revision": 2 })).unwrap_err();
        assert_eq!(code(&stale), "version_conflict");
        let big: Vec<_> = (0..33).map(|n| n.to_string()).collect();
        let many = update(json!({ "agent": 1, "capabilities": big })).unwrap_err();
        let wide = update(json!({ "agent": 1, "metadata": {"x": "y".repeat(16_385)} })).unwrap_err();
        assert_eq!((code(&many), code(&wide)), ("invalid", "invalid"));
    }

    // S19: a rotated token is good no more, at once
    fn a_rotated_token_replaces_the_old_one(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, old) = kit.agent("web", "Blue");
        let rotate: RotateToken = request(&json!({ "agent": "Blue" }));
        let rotated = kit.run_as(old.clone(), rotate.clone()).unwrap().answer;
        assert_eq!(code(&kit.run_as(old, rotate).unwrap_err()), "unauthorized");
        let token = rotated.secret.unwrap().reveal();
        assert!(kit.kernel().authenticate(&token).wait().is_ok());
    }

    fn a_retired_agent_takes_part_no_more_and_keeps_its_name(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let retire: RetireAgent = request(&json!({ "agent": "Blue", "reason": "done" }));
        let retired = kit.run_as(blue.clone(), retire.clone()).unwrap().answer.agent;
        assert!(retired.retired_at.is_some());
        assert_eq!(code(&kit.run_as(blue, retire).unwrap_err()), "unauthorized");
        let again: RetireAgent = request(&json!({ "agent": "Blue", "project": "web" }));
        assert_eq!(code(&kit.run(again).unwrap_err()), "agent_retired");
        assert_eq!(code(&kit.run(register("web", "BLUE")).unwrap_err()), "agent_retired");
        let list: ListAgents = request(&json!({ "project": "web" }));
        assert!(kit.ask(list).unwrap().answer.items.is_empty());
    }

    // S20
    fn another_projects_agents_are_not_there(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.project("/srv/api");
        let (_, blue) = kit.agent("web", "Blue");
        let (red, _) = kit.agent("api", "Red");
        for fields in [json!({ "agent": red.id }), json!({ "agent": "Red" })] {
            let get: GetAgent = request(&fields);
            assert_eq!(code(&kit.ask_as(blue.clone(), get).unwrap_err()), "not_found");
        }
        for project in ["api", "/srv/api", "nowhere"] {
            let list: ListAgents = request(&json!({ "project": project }));
            let refused = kit.ask_as(blue.clone(), list).unwrap_err();
            assert_eq!(code(&refused), "not_found");
            assert_eq!(refused.hint(), "list what there is and use its id or name");
        }
    }

    // S20: whatever other projects are called
    fn an_agents_own_project_answers_to_its_slug(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        kit.project("web");
        let list: ListAgents = request(&json!({ "project": "web" }));
        assert_eq!(kit.ask_as(blue, list).unwrap().answer.items.len(), 1);
    }

    fn near_names_are_suggested(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let get: GetAgent = request(&json!({ "agent": "bleu" }));
        let missed = kit.ask_as(blue, get).unwrap_err();
        assert_eq!(missed.hint(), "did you mean `Blue`?");
    }

    fn lists_filter_by_capability(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        for number in 0..5 {
            let skill = if number % 2 == 0 { "rust" } else { "go" };
            kit.run(request::<RegisterAgent>(&json!({
                "project": "web", "name": format!("a{number}"), "program": "p", "model": "m",
                "capabilities": [skill],
            })))
            .unwrap();
        }
        let names = |after: &str| {
            let list: ListAgents = request(&json!({
                "project": "web", "capability": "rust", "limit": 2, "after": after,
            }));
            let page = kit.ask(list).unwrap().answer;
            let names: Vec<_> = page.items.into_iter().map(|seen| seen.agent.name).collect();
            (names, page.next)
        };
        let (first, next) = names("0");
        let (second, end) = names(&next.unwrap());
        assert_eq!((first, second, end), (vec!["a0".into(), "a2".into()], vec!["a4".into()], None));
    }

    fn an_agent_learns_who_it_is(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Red")).unwrap();
        let (agent, blue) = kit.agent("web", "Blue");
        let me = kit.ask_as(blue, Orient {}).unwrap().answer;
        assert_eq!((me.agent_id, me.name.as_str(), me.others), (agent.id.get(), "Blue", 1));
        assert_eq!(code(&kit.ask(Orient {}).unwrap_err()), "forbidden");
        // Under 800 tokens: four bytes make about one.
        assert!(serde_json::to_string(&me).unwrap().len() < 3_200);
    }

    // C2 S18: the replay tells what was done, but a token is told once
    fn a_replayed_registration_has_no_token(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let first = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        let again = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        assert!(first.answer.secret.is_some());
        assert!(again.replayed && again.answer.created && again.answer.secret.is_none());
        assert_eq!(first.answer.agent, again.answer.agent);
        let stored = kit.shell("select answer from idempotency").unwrap();
        let token = first.answer.secret.unwrap().reveal();
        assert!(!stored.contains("comity_"), "{stored} {token}");
    }

    // E5
    fn an_observer_reads_and_changes_nothing(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let made = kit.run(request::<CreateToken>(&json!({ "role": "observer" }))).unwrap().answer;
        let token = made.secret.unwrap().reveal();
        let observer = kit.kernel().authenticate(&token).wait().unwrap().answer;
        let list: ListAgents = request(&json!({ "project": "web" }));
        assert!(kit.ask_as(observer.clone(), list).is_ok());
        assert_eq!(code(&kit.run_as(observer, register("web", "Blue")).unwrap_err()), "forbidden");
    }
}
