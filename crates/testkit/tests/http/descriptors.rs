//! No descriptors left (D10, fault 8, K5). What a connection costs does not depend on the engine.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use comity_testkit::served::{Call, read_answer};
use serde_json::{Value, json};

use crate::crowd::child;

fn check<'a>(health: &'a Value, name: &str) -> &'a Value {
    let checks = health["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    &check.unwrap()["status"]
}

// D10 K5 fault 8
#[test]
fn without_descriptors_those_inside_are_served_and_newcomers_wait() {
    let child = child(&json!({}));
    let mut inside = child.connect();
    let mut ask = |call: Call| {
        inside.write_all(&child.bytes(&call)).unwrap();
        read_answer(&mut inside, "").unwrap()
    };
    assert_eq!(ask(Call::get("/health")).json()["status"], "ok");
    child.leave_no_descriptors();
    let mut newcomer = child.connect();
    newcomer
        .write_all(&child.bytes(&Call::get("/api/projects")))
        .unwrap();

    let health = ask(Call::get("/health"));
    assert_eq!(
        (health.status, &health.json()["status"]),
        (200, &json!("degraded"))
    );
    assert_eq!(check(&health.json(), "descriptors"), "degraded");
    assert_eq!(check(&health.json(), "write"), "ok");
    for n in 0..20 {
        let key = json!({ "key": format!("/srv/{n}") });
        assert_eq!(ask(Call::post("/api/projects", &key)).status, 201);
    }
    // The newcomer is not lost, and waiting for it does not keep a processor busy.
    let before = child.processor_time();
    newcomer
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    assert!(
        newcomer.read(&mut [0; 1]).is_err(),
        "nobody could accept it"
    );
    let spent = child.processor_time().saturating_sub(before);
    assert!(spent < Duration::from_millis(300), "{spent:?}");

    child.limit_descriptors(10_000);
    newcomer
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert_eq!(read_answer(&mut newcomer, "GET").unwrap().status, 200);
    assert_eq!(ask(Call::get("/health")).json()["status"], "ok");
    assert_eq!(child.call(&Call::get("/api/projects")).status, 200);
}

// D10: some stay free for the database, copies and `git`: 100 where there are many, as here
#[test]
fn connections_leave_some_descriptors_free() {
    let child = child(&json!({ "descriptors": 1_000 }));
    let mut inside = child.connect();
    let projects = child.bytes(&Call::get("/api/projects"));
    let mut crowd: Vec<_> = (0..1_000).map(|_| child.connect()).collect();
    let mut turned_away = 0;
    for stream in &mut crowd {
        // A server without a place has answered and gone already.
        let _ = stream.write_all(&projects);
        match read_answer(stream, "GET").unwrap().status {
            200 => {}
            503 => turned_away += 1,
            other => panic!("{other}"),
        }
    }
    assert!(turned_away > 100, "{turned_away}");
    let open = child.descriptors();
    assert!(open <= 1_000 - 100, "{open} of 1,000 are in use");
    inside
        .write_all(&child.bytes(&Call::get("/health")))
        .unwrap();
    let health = read_answer(&mut inside, "GET").unwrap().json();
    assert_eq!(health["status"], "ok", "{health}");
    drop(crowd);
    let admitted = (0..1_000).any(|_| {
        child
            .raw(&projects)
            .is_some_and(|answer| answer.status == 200)
    });
    assert!(admitted);
}
