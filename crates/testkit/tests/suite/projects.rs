//! Projects.

use comity_kernel::Error;
use comity_kernel::project::{EnsureProject, ListProjects, ProjectStatusQuery, UpdateProject};
use comity_testkit::kit::{operator_with_key, register, request};
use comity_testkit::{Kit, both_engines};
use serde_json::json;

fn ensure(key: &str) -> EnsureProject {
    request(&json!({ "key": key }))
}

both_engines! {
    // E1 E3
    fn the_same_key_is_the_same_project(engine) {
        let kit = Kit::new(engine);
        let first = kit.run(ensure("/srv/my.app")).unwrap();
        let again = kit.run(ensure("/srv/my.app")).unwrap();
        assert!(first.answer.created && !again.answer.created);
        assert_eq!(first.answer.project, again.answer.project);
        assert_eq!(again.seq, first.seq);
    }

    // E1
    fn different_keys_are_never_merged_whatever_their_slugs(engine) {
        let kit = Kit::new(engine);
        let slugs: Vec<_> = ["/srv/my.app", "/srv/my-app", "/other/My App", "/srv/MY.APP"]
            .iter()
            .map(|key| kit.project(key).slug.to_string())
            .collect();
        assert_eq!(slugs, ["my-app", "my-app-2", "my-app-3", "my-app-4"]);
    }

    fn a_key_is_found_before_a_slug(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let named_like_the_slug = kit.project("web");
        let asked = ProjectStatusQuery { project: Some(request(&json!("web"))) };
        assert_eq!(kit.ask(asked).unwrap().answer.project.id, named_like_the_slug.id);
    }

    fn an_update_changes_what_is_given(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let updated = kit
            .run(request::<UpdateProject>(&json!({
                "project": "web", "guard_mode": "warn", "grace": "1h", "expected_revision": 1,
            })))
            .unwrap()
            .answer
            .project;
        assert_eq!((updated.grace_ms, updated.revision), (3_600_000, 2));
        assert_eq!(updated.guard_mode.as_str(), "warn");
        assert_eq!(updated.leases_per_agent, 1_000);
    }

    fn an_update_without_a_difference_leaves_no_event(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let same: UpdateProject = request(&json!({ "project": "web", "guard_mode": "block" }));
        let reply = kit.run(same).unwrap();
        assert_eq!((reply.answer.project.revision, reply.seq.get()), (1, 1));
    }

    fn a_stale_or_impossible_update_is_refused(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let update = |fields| kit.run(request::<UpdateProject>(&fields)).unwrap_err().to_json();
        let stale = update(json!({ "project": "web", "name": "x", "expected_revision": 7 }));
        assert_eq!((&stale["error"], &stale["present"]), (&json!("version_conflict"), &json!(1)));
        let field = |answer: serde_json::Value| answer["field"].as_str().map(ToOwned::to_owned);
        assert_eq!(field(update(json!({ "project": "web", "grace": "8d" }))).unwrap(), "grace");
        assert_eq!(
            field(update(json!({ "project": "web", "leases_per_agent": 0 }))).unwrap(),
            "leases_per_agent"
        );
        assert_eq!(field(update(json!({ "name": "x" }))).unwrap(), "project");
        let unknown = update(json!({ "project": "wbe", "name": "x" }));
        assert_eq!(unknown["error"], "not_found");
        assert_eq!(unknown["hint"], "did you mean `web`?");
        assert_eq!(kit.kernel().head().borrow().get(), 1);
    }

    fn lists_are_keyset_pages(engine) {
        let kit = Kit::new(engine);
        for number in 1..=5 {
            kit.project(&format!("/srv/p{number}"));
        }
        let mut after = json!("0");
        let mut seen = Vec::new();
        loop {
            let page: ListProjects = request(&json!({ "limit": 2, "after": after }));
            let page = kit.ask(page).unwrap();
            assert_eq!(page.as_of_seq.get(), 5);
            seen.extend(page.answer.items.iter().map(|project| project.id.get()));
            match page.answer.next {
                Some(next) => after = json!(next),
                None => break,
            }
        }
        assert_eq!(seen, [1, 2, 3, 4, 5]);
    }

    // C2
    fn a_repeated_key_creates_nothing(engine) {
        let kit = Kit::new(engine);
        let first = kit.run_as(operator_with_key("k"), ensure("/srv/web")).unwrap();
        let again = kit.run_as(operator_with_key("k"), ensure("/srv/web")).unwrap();
        assert!(again.replayed && again.answer.created);
        assert_eq!(first.answer.project, again.answer.project);
        let other = kit.run_as(operator_with_key("k"), ensure("/srv/api")).unwrap_err();
        assert!(matches!(other, Error::IdempotencyMismatch { .. }));
    }

    fn the_status_counts_agents(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Blue")).unwrap();
        let (_, red) = kit.agent("web", "Red");
        let status = kit.ask_as(red, ProjectStatusQuery { project: None }).unwrap().answer;
        assert_eq!((status.agents, status.agents_retired), (2, 0));
    }
}
