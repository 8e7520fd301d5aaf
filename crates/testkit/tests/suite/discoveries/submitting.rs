//! What is submitted is there once, and nothing comes in that is no discovery.

use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::discovery::KeepVector;
use comity_kernel::failpoint::Action;
use comity_kernel::store::StoreError;
use comity_testkit::both_engines;
use comity_testkit::kit::operator_with_key;

use super::*;

/// Why a statement failed.
fn cause() -> comity_kernel::store::Cause {
    std::sync::Arc::new(std::io::Error::other("a test"))
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    let base64 = comity_kernel::mail::attachment::Base64::new(bytes.to_vec());
    let text = serde_json::to_value(base64).unwrap();
    text.as_str().unwrap().to_owned()
}

both_engines! {
    // J3 F-M5: `already_exists` with the number, exit code 4, unlike a full disk or a busy database
    fn what_a_source_calls_something_is_unique(engine) {
        let lab = Lab::new(engine);
        let id = lab.submit("a", &json!({ "summary": "s", "url": "https://example.org" }));
        let before = lab.head();
        let again = lab.call(&lab.team.red, "submit_discovery", &wish("a", &json!({ "title": "other" })));
        let error = again.unwrap_err();
        let code = error.code();
        assert_eq!((code.word, code.status, code.exit), ("already_exists", 409, 4));
        assert_eq!(error.to_json()["id"], id);
        assert_eq!(lab.head(), before);
        // Elsewhere the same words mean something else.
        lab.submit("a", &json!({ "source": "other" }));
        let far = lab.call(&lab.team.far, "submit_discovery", &wish("a", &json!({})));
        assert_eq!(far.unwrap()["discovery"]["project"], "api");
        for (fault, word) in [
            (StoreError::Full(cause()), "storage_full"),
            (StoreError::Busy(cause()), "busy"),
        ] {
            lab.team.kit.failpoints.set("command.after_emit", Action::Fail(fault));
            assert_eq!(lab.refused("submit_discovery", &wish("b", &json!({}))), word);
            lab.team.kit.failpoints.clear("command.after_emit");
        }
        assert_eq!(lab.shell("select count(*) from discovery"), "3");
        lab.submit("b", &json!({}));
    }

    // C2: a repetition is answered from memory, and a near-duplicate is looked for again
    fn a_repeated_submission_adds_nothing(engine) {
        let lab = Lab::new(engine);
        let mut request = near("a", &[1.0, 0.0], 0.9);
        request["project"] = json!("web");
        let submit = |key: &str, request: &Value| lab.team.kit.call(operator_with_key(key), "submit_discovery", request);
        let first = submit("k", &request).unwrap();
        assert_eq!(submit("k", &request).unwrap(), first);
        let mut other = near("b", &[1.0, 0.001], 0.9);
        other["project"] = json!("web");
        let before = lab.head();
        for _ in 0..2 {
            let answer = submit("l", &other).unwrap();
            assert_eq!((&answer["created"], &answer["duplicate_of"]), (&json!(false), &json!(1)));
            assert!(answer.get("discovery").is_none(), "{answer}");
            assert!(answer["similarity"].as_f64().unwrap() > 0.99);
        }
        // It leaves nothing on the log.
        assert_eq!(lab.head(), before);
    }

    // J2: what is compared is of one source, one model, one project; settled ones count, too
    fn only_what_can_be_compared_is_compared(engine) {
        let lab = Lab::new(engine);
        let first = near("a", &[3.0, 4.0], 0.95);
        assert_eq!(lab.done("submit_discovery", &first)["created"], true);
        let same = |other: Value| {
            let mut request = near("b", &[30.0, 40.0], 0.95);
            for (name, value) in other.as_object().unwrap() {
                request[name] = value.clone();
            }
            request
        };
        let answer = lab.done("submit_discovery", &same(json!({})));
        assert_eq!((&answer["duplicate_of"], &answer["similarity"]), (&json!(1), &json!(1.0)));
        for other in [
            json!({ "source": "other" }),
            json!({ "model": "m-2", "source_id": "c" }),
            json!({ "dedup_threshold": null, "source_id": "d" }),
            json!({ "embedding": [-30, -40], "source_id": "e" }),
        ] {
            assert_eq!(lab.done("submit_discovery", &same(other.clone()))["created"], true, "{other}");
        }
        let far = lab.call(&lab.team.far, "submit_discovery", &same(json!({}))).unwrap();
        assert_eq!(far["created"], true);
        lab.done("dismiss_discovery", &json!({ "id": 1 }));
        // 1 and 4 are equally near: the first is named (F-L3).
        assert_eq!(lab.done("submit_discovery", &same(json!({ "source_id": "f" })))["duplicate_of"], 1);
    }

    // J2: whatever has no vector of the model was not compared, and the answer says how many that are
    fn what_could_not_be_compared_is_counted(engine) {
        let lab = Lab::new(engine);
        let not_compared = |answer: &Value| answer.get("not_compared").cloned();
        let first = lab.done("submit_discovery", &near("a", &[1.0, 0.0], 0.9));
        assert_eq!(not_compared(&first), Some(json!(0)));
        let other_model = json!({ "embedding": [1, 0], "model": "m-2" });
        let blind = lab.done("submit_discovery", &wish("b", &other_model));
        assert_eq!(not_compared(&blind), None, "nothing was to be compared");
        lab.submit("c", &json!({ "source": "other", "embedding": [1, 0], "model": "m-2" }));
        let second = lab.done("submit_discovery", &near("d", &[0.0, 1.0], 0.9));
        assert_eq!((&second["created"], not_compared(&second)), (&json!(true), Some(json!(1))));
        let same = lab.done("submit_discovery", &near("e", &[0.0, 2.0], 0.9));
        assert_eq!((&same["created"], not_compared(&same)), (&json!(false), Some(json!(1))));
    }

    // J11: wrong sizes, NaN, infinities, zero; two models never share a space
    fn a_vector_that_is_none_is_refused(engine) {
        let lab = Lab::new(engine);
        lab.submit("a", &json!({ "embedding": [1, 2], "model": "m-1" }));
        let before = lab.head();
        let nan = base64(&[f32::NAN.to_le_bytes(), 1.0_f32.to_le_bytes()].concat());
        let infinite = base64(&[f32::INFINITY.to_le_bytes(), 1.0_f32.to_le_bytes()].concat());
        let zero = base64(&[0; 8]);
        for (embedding, model, field) in [
            (json!([1, 2, 3]), json!("m-1"), "embedding"),
            (json!([1]), json!("m-1"), "embedding"),
            (json!([]), json!("m-2"), "embedding"),
            (json!([0, 0.0]), json!("m-1"), "embedding"),
            (json!([1e39, 1]), json!("m-1"), "embedding"),
            (json!(nan), json!("m-1"), "embedding"),
            (json!(infinite), json!("m-1"), "embedding"),
            (json!(zero), json!("m-1"), "embedding"),
            (json!(base64(&[0, 0, 128, 63, 0])), json!("m-1"), "embedding"),
            (json!("?"), json!("m-1"), "embedding"),
            (json!([1, 2]), Value::Null, "model"),
            (Value::Null, json!("m-1"), "embedding"),
            (json!([1, 2]), json!("two words"), "model"),
        ] {
            let request = wish("b", &json!({ "embedding": embedding, "model": model }));
            let error = lab.call(&lab.team.blue, "submit_discovery", &request).unwrap_err();
            let shown = error.to_json();
            assert_eq!((&shown["error"], &shown["field"]), (&json!("invalid"), &json!(field)), "{request}: {error}");
            assert_eq!(error.code().status, 422);
        }
        let blind = wish("b", &json!({ "dedup_threshold": 0.9 }));
        let without_embedder = lab.call(&lab.team.blue, "submit_discovery", &blind);
        if let Err(error) = without_embedder {
            assert_eq!(error.to_json()["field"], "dedup_threshold");
        }
        for (field, value) in [("score", json!(1.1)), ("score", json!(-0.1)), ("dedup_threshold", json!(0))] {
            let request = wish("c", &json!({ "embedding": [1, 2], "model": "m-1", (field): value }));
            let error = lab.call(&lab.team.blue, "submit_discovery", &request).unwrap_err();
            assert_eq!(error.to_json()["field"], field, "{error}");
        }
        assert!(lab.head() <= before + 1);
        // A model that nobody used here may have any size.
        lab.submit("d", &json!({ "embedding": [1, 2, 3], "model": "m-3" }));
    }

    // J11 F-L2: base64 is little-endian; the same numbers the other way round are not the same
    fn bytes_are_little_endian(engine) {
        let lab = Lab::new(engine);
        let numbers = [1.5_f32, -2.25, 1024.0];
        lab.done("submit_discovery", &near("array", &numbers, 1.0));
        let bytes = |turn: fn(f32) -> [u8; 4]| base64(&numbers.map(turn).concat());
        let mut request = near("little", &numbers, 1.0);
        request["embedding"] = json!(bytes(f32::to_le_bytes));
        let answer = lab.done("submit_discovery", &request);
        assert_eq!((&answer["duplicate_of"], &answer["similarity"]), (&json!(1), &json!(1.0)));
        request["embedding"] = json!(bytes(f32::to_be_bytes));
        request["source_id"] = json!("big");
        // Read as they are, these are tiny numbers of another direction.
        request["dedup_threshold"] = json!(0.999);
        assert_eq!(lab.done("submit_discovery", &request)["created"], true);
        let hex = match engine {
            Engine::Sqlite => "select lower(hex(vector)) from discovery_vector order by discovery_id limit 1",
            Engine::Postgres => "select encode(vector, 'hex') from discovery_vector order by discovery_id limit 1",
        };
        assert_eq!(lab.shell(hex), "0000c03f000010c000008044");
    }

    // A vector that comes late is kept once per model, and for a settled discovery, too
    fn a_late_vector_is_kept_once(engine) {
        let lab = Lab::new(engine);
        let id = lab.submit("a", &json!({ "embedding": [1, 2], "model": "m-1" }));
        lab.done("dismiss_discovery", &json!({ "id": id }));
        let keep = |id: i64, text: &str, model: &str, vector: Vec<f32>| {
            let id = comity_domain::DiscoveryId::new(id);
            let (model, vector) = (ModelId::parse(model).unwrap(), Embedding::new(vector).unwrap());
            let late = KeepVector::new(id, text, model, vector);
            lab.team.kit.kernel().execute(Actor::System.into(), late).wait()
        };
        // What it does not say is not kept with it.
        assert!(!keep(id, "news b\n", "m-2", vec![1.0]).unwrap().answer.kept);
        assert!(keep(id, "news a\n", "m-2", vec![1.0]).unwrap().answer.kept);
        assert!(!keep(id, "news a\n", "m-2", vec![1.0]).unwrap().answer.kept);
        assert!(!keep(id, "news a\n", "m-1", vec![9.0, 9.0]).unwrap().answer.kept);
        let found = lab.get(id);
        assert_eq!((&found["models"], &found["revision"], &found["state"]), (&json!(["m-1", "m-2"]), &json!(3), &json!("dismissed")));
        lab.submit("b", &json!({}));
        let refused = keep(2, "news b\n", "m-2", vec![1.0, 2.0]);
        assert_eq!(refused.unwrap_err().code().word, "invalid");
        assert_eq!(lab.shell("select actor from event where kind = 'discovery_embedded'"), "system");
    }

    // F-L1: the time is the transaction's, never the database's own
    fn the_time_is_that_of_the_transaction(engine) {
        let lab = Lab::new(engine);
        lab.pass(12_345_678);
        let id = lab.submit("a", &json!({}));
        let sql = "select count(*) from discovery d join event e on e.subject_type = 'discovery'
            and e.subject_id = d.id where d.discovered_at = e.at and d.discovered_lease_us > 0";
        assert_eq!(lab.shell(sql), "1");
        lab.pass(HOUR);
        lab.done("dismiss_discovery", &json!({ "id": id }));
        let apart = lab.shell("select settled_at - discovered_at from discovery");
        assert_eq!(apart, HOUR.to_string());
    }
}
