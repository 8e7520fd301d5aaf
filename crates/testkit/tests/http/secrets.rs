//! Tokens stay out of URLs and out of the log (S18). What is logged does not depend on the engine.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use comity_testkit::served::Call;
use serde_json::json;

use crate::town::{Town, every_door};

/// Everything this process logs, of every test in it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Takes all there is to log, down to the smallest matter.
    fn listen() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            let writer = log.clone();
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
                .with_writer(move || writer.clone())
                .init();
            log
        })
    }

    fn holds(&self, text: &str) -> bool {
        let log = self.0.lock().unwrap();
        log.windows(text.len()).any(|part| part == text.as_bytes())
    }
}

/// The ways to put a token into a URL.
fn spellings(token: &str) -> Vec<String> {
    vec![
        format!("token={token}"),
        format!("access_token={token}&limit=1"),
        format!("limit=1&{token}"),
        format!("a={}", token.replace('_', "%5f")),
        format!("a=Bearer+{token}"),
        format!("a=Bearer%20{token}"),
        format!("a=x,{token}"),
    ]
}

// S18
#[test]
fn a_token_in_the_query_is_refused_on_every_route_and_never_logged() {
    let log = Log::listen();
    let town = Town::small();
    for (method, path) in every_door() {
        for query in spellings(&town.operator) {
            let call = Call::new(method, &format!("{path}?{query}"));
            for call in [call.clone().token(&town.observer), call] {
                let answer = town.served.call(&call);
                assert_eq!(
                    answer.refusal(),
                    (422, "invalid".to_owned()),
                    "{method} {path}"
                );
                assert!(!answer.text().contains(&town.operator[..40]));
            }
        }
    }
    let (_, secret) = town.operator.rsplit_once('_').unwrap();
    assert!(!log.holds(secret) && !log.holds(&town.operator[..20]));
}

// S18: presented as it should be, answered where it is made, spoilt or sent as something else
#[test]
fn no_token_is_ever_logged() {
    let log = Log::listen();
    let town = Town::small();
    let agent = json!({ "project": "web", "name": "New", "program": "p", "model": "m" });
    let made = town
        .served
        .post("/api/agents", &town.operator, &agent)
        .json();
    let made = made["token"].as_str().unwrap();
    let (_, secret) = made.rsplit_once('_').unwrap();
    let spoilt = made.replace("comity_", "comity_9");
    assert_eq!(town.served.get("/api/orient", made).status, 200);
    assert_eq!(town.served.get("/api/orient", &spoilt).status, 401);
    assert_eq!(
        town.served.get(&format!("/api/agents/{made}"), made).status / 100,
        4
    );
    assert_eq!(town.served.get(&format!("/{made}"), made).status, 404);
    let body = json!({ "key": made, "token": made });
    assert_eq!(town.served.post("/api/projects", made, &body).status, 403);
    assert_eq!(
        town.served
            .post("/api/projects", &town.operator, &body)
            .status,
        422
    );
    let call = Call::get("/api/orient")
        .header("X-Request-Id", made)
        .token(made);
    let echoed = town.served.call(&call);
    assert_eq!(echoed.status, 200);
    assert!(!echoed.header("x-request-id").unwrap().contains(secret));
    // The test can fail: what is logged is heard.
    assert!(log.holds("answered") && log.holds("operation=\"orient\""));
    assert!(!log.holds(secret));
}
