//! A clean stop answers everyone (B8, fault 10).

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use comity_testkit::served::{Call, connect, read_answer};
use comity_testkit::{Kit, both_engines};
use serde_json::json;

use crate::town::{Held, Town};

both_engines! {
    // B8 B1: a write under way when the stop comes is committed and answered
    fn requests_under_way_are_answered_and_idle_connections_closed(engine) {
        let kit = Kit::with(engine, |options| options.batch_max = 1);
        let mut town = Town::around(kit, |_, _| {});
        let host = town.served.addr().to_string();
        let mut idle = town.served.connect();
        idle.write_all(&Call::get("/health").bytes(&host)).unwrap();
        assert_eq!(read_answer(&mut idle, "GET").unwrap().status, 200);
        let silent = town.served.connect();
        let gate = Held::at(&town, "writer.before_commit");
        let mut busy: Vec<_> = (0..5)
            .map(|n| {
                let call = Call::post("/api/projects", &json!({ "key": format!("/srv/{n}") }));
                let mut stream = town.served.connect();
                stream.write_all(&call.token(&town.operator).bytes(&host)).unwrap();
                stream
            })
            .collect();
        gate.wait_until_hit();
        while town.served.kit.kernel().waiting().0 < 4 {
            std::thread::yield_now();
        }
        town.served.begin_to_stop();
        // That those without a request are closed shows that the stop has come.
        for mut quiet in [idle, silent] {
            assert_eq!(quiet.read(&mut [0; 1]).unwrap(), 0);
        }
        gate.open();
        for stream in &mut busy {
            let answer = read_answer(stream, "POST").unwrap();
            assert_eq!(answer.status, 201, "{}", answer.text());
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        }
        town.served.stop();
        assert!(std::net::TcpStream::connect(town.served.addr()).is_err());
        assert!(!town.served.socket().exists());
        let found = town.served.kit.shell("select count(*) from project").unwrap();
        assert_eq!(found, "7");
    }
}

// B8: whatever they do or do not do; the database takes no part
#[test]
fn stuck_clients_do_not_hold_a_stop() {
    let mut town = Town::small();
    let addr = town.served.addr();
    let head = town.head("POST /api/projects") + "Content-Type: application/json\r\n";
    let half_a_body = format!("{head}Content-Length: 100\r\n\r\n{{\"key");
    let asks = Call::get("/api/openapi.json").bytes(&addr.to_string());
    let mut stuck = Vec::new();
    for bytes in [head.as_bytes(), half_a_body.as_bytes()] {
        let mut stream = connect(addr);
        stream.write_all(bytes).unwrap();
        stuck.push(stream);
    }
    // It asks and asks, and takes nothing.
    let mut deaf = connect(addr);
    deaf.set_write_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    while deaf.write_all(&asks).is_ok() {}
    town.must_be_well();
    let begun = Instant::now();
    town.served.stop();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    for mut stream in stuck {
        // Closed or reset, but not left hanging.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}
