//! Tokens and authentication.

use comity_domain::ProjectId;
use comity_kernel::agent::Orient;
use comity_kernel::token::{CreateToken, ListTokens, RevokeToken};
use comity_kernel::{Actor, Error};
use comity_testkit::kit::{register, request};
use comity_testkit::{Kit, both_engines};
use serde_json::json;

both_engines! {
    // S19 E5
    fn a_token_says_who_acts(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let make = |fields| {
            let made = kit.run(request::<CreateToken>(&fields)).unwrap().answer;
            let token = made.secret.unwrap().reveal();
            kit.kernel().authenticate(&token).wait().unwrap().answer
        };
        assert!(matches!(make(json!({ "role": "operator" })), Actor::Operator { token: Some(_) }));
        let everywhere = make(json!({ "role": "observer", "name": "wall" }));
        let there = make(json!({ "role": "observer", "project": "web" }));
        assert_eq!((everywhere.project(), there.project().map(ProjectId::get)), (None, Some(1)));
    }

    // S19: unknown, wrong and revoked look the same
    fn a_bad_token_is_unauthorized_whatever_is_wrong_with_it(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let registered = kit.run(register("web", "Blue")).unwrap().answer;
        let good = registered.secret.unwrap().reveal();
        let wrong = good.replace("comity_1_", "comity_2_");
        let (head, last) = good.split_at(good.len() - 1);
        let flipped = format!("{head}{}", if last == "0" { "1" } else { "0" });
        let answer = |token: &str| kit.kernel().authenticate(token).wait();
        assert!(answer(&good).is_ok());
        kit.run(request::<RevokeToken>(&json!({ "id": 1 }))).unwrap();
        for bad in [good.as_str(), &wrong, &flipped, "", "comity", "Bearer x", "comity_1_00"] {
            assert!(matches!(answer(bad), Err(Error::Unauthorized)), "{bad}");
        }
    }

    // E5: a token revoked after it was checked at the door does not act
    fn a_revoked_token_does_not_act_any_more(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        kit.run(request::<RevokeToken>(&json!({ "id": 1 }))).unwrap();
        let refused = kit.run_as(blue.clone(), register("web", "Blue")).unwrap_err();
        assert!(matches!(refused, Error::Unauthorized));
        assert!(matches!(kit.ask_as(blue, Orient {}), Err(Error::Unauthorized)));
    }

    fn revoking_is_for_good_and_once(engine) {
        let kit = Kit::new(engine);
        kit.run(request::<CreateToken>(&json!({ "role": "observer" }))).unwrap();
        let revoke: RevokeToken = request(&json!({ "id": 1 }));
        let first = kit.run(revoke.clone()).unwrap();
        let again = kit.run(revoke).unwrap();
        assert_eq!(first.answer, again.answer);
        assert_eq!((first.seq, again.answer.token.revision), (again.seq, 2));
        let unknown = kit.run(request::<RevokeToken>(&json!({ "id": 9 }))).unwrap_err();
        assert_eq!(unknown.code().word, "not_found");
    }

    fn tokens_that_make_no_sense_are_refused(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        for (fields, field) in [
            (json!({ "role": "agent" }), "role"),
            (json!({ "role": "operator", "project": "web" }), "project"),
        ] {
            let refused = kit.run(request::<CreateToken>(&fields)).unwrap_err();
            assert_eq!(refused.to_json()["field"], field);
        }
    }

    // S18
    fn a_list_of_tokens_holds_no_token(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let secret = kit.run(register("web", "Blue")).unwrap().answer.secret.unwrap().reveal();
        let list = kit.ask(ListTokens::default()).unwrap().answer;
        let shown = serde_json::to_string(&list).unwrap() + &format!("{list:?}");
        assert!(shown.contains("Blue") && !shown.contains(&secret), "{shown}");
        let rows = kit.shell("select payload from event").unwrap();
        assert!(!rows.contains(&secret) && !rows.contains("comity_1"), "{rows}");
    }
}
