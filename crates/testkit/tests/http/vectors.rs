//! The making of vectors beside the requests, and what health says of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::Actor;
use comity_kernel::embedder::{EmbedError, Embedder, Pace};
use comity_testkit::served::Call;
use comity_testkit::{Engine, Kit, Served, both_engines};
use serde_json::{Value, json};

/// An embedder that is asked one text at a time, knows no word of some texts, and may be away.
struct Fussy {
    model: ModelId,
    is_away: AtomicBool,
}

impl Embedder for Fussy {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimension(&self) -> usize {
        2
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(EmbedError::Away("nobody is there".to_owned()));
        }
        if texts.len() > 1 && texts.iter().any(|text| text.contains("together")) {
            return Err(EmbedError::Refused("one at a time".to_owned()));
        }
        let one = |text: &&str| {
            if text.contains("zero") {
                return Err("no word of it is known".to_owned());
            }
            Ok(Embedding::new(vec![1.0, 0.5]).unwrap())
        };
        Ok(texts.iter().map(one).collect())
    }
}

fn serve(engine: Engine, is_away: bool) -> Served {
    let fussy = Fussy {
        model: ModelId::parse("acme").unwrap(),
        is_away: AtomicBool::new(is_away),
    };
    let kit = Kit::with(engine, |options| options.embedder = Some(Arc::new(fussy)));
    kit.project("/srv/web");
    Served::around(kit, |_, _| {})
}

fn submit(kit: &Kit, title: &str) {
    let wanted = json!({ "project": "web", "source": "feed", "source_id": title, "title": title });
    let submitted = kit.call(Actor::OPERATOR, "submit_discovery", &wanted);
    assert_eq!(submitted.unwrap()["discovery"]["models"], json!([]));
}

/// What health says of vectors once it says this.
fn until(served: &Served, said: &str) -> Value {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let health = served.call_unix(&Call::get("/health")).json();
        let checks = health["checks"].as_array().unwrap();
        let vectors = checks.iter().find(|check| check["name"] == "vectors");
        let vectors = vectors.unwrap().clone();
        if vectors["detail"].as_str().unwrap().contains(said) {
            return vectors;
        }
        assert!(Instant::now() < end, "{said}: {vectors}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn models(kit: &Kit, id: i64) -> Value {
    let found = kit.call(Actor::OPERATOR, "get_discovery", &json!({ "id": id }));
    found.unwrap()["discovery"]["models"].clone()
}

both_engines! {
    // K5: one text without a vector keeps nobody else from theirs, and health tells of it
    fn vectors_are_made_beside_the_requests(engine) {
        let served = serve(engine, false);
        assert_eq!(until(&served, "all discoveries have one of `acme`")["status"], "ok");
        for title in ["one", "together", "zero", "last"] {
            submit(&served.kit, title);
        }
        let said = until(&served, "1 discoveries were passed over; the last is 3: no word");
        assert_eq!(said["status"], "degraded");
        until_made(&served.kit, 4);
        let made: Vec<_> = (1..=4).map(|id| models(&served.kit, id)).collect();
        assert_eq!(made, [json!(["acme"]), json!(["acme"]), json!([]), json!(["acme"])]);
        // It goes on with what comes behind it.
        submit(&served.kit, "later");
        until_made(&served.kit, 5);
    }

    // K5: an embedder that is away is told of, and nothing is passed over
    fn health_says_why_there_are_no_vectors(engine) {
        let served = serve(engine, true);
        submit(&served.kit, "one");
        let said = until(&served, "nobody is there");
        assert_eq!(said["status"], "degraded");
        assert_eq!(models(&served.kit, 1), json!([]));
    }
}

fn until_made(kit: &Kit, id: i64) {
    let end = Instant::now() + Duration::from_mins(1);
    while models(kit, id) == json!([]) {
        assert!(Instant::now() < end, "{id} gets no vector");
        std::thread::sleep(Duration::from_millis(20));
    }
}
