//! Vectors say what the text said: they go with it, whenever they came, and do not come back.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

use comity_kernel::log::Recorded;
use comity_kernel::{Actor, Making, Step};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use super::{SECRET, log_of, redact};
use crate::discovery_search::{Asked, block, embed_all};

/// A workspace whose vectors are made by somebody who has to be asked.
fn slow(engine: Engine) -> (Kit, Arc<Asked>) {
    let asked = Asked::new("acme");
    let embedder = Arc::clone(&asked);
    let kit = Kit::with(engine, |options| options.embedder = Some(embedder));
    kit.project("/srv/web");
    (kit, asked)
}

fn submit(kit: &Kit, source_id: &str, more: &Value) -> Value {
    let mut found = json!({
        "project": "web", "source": "papers", "source_id": source_id, "title": SECRET, "summary": source_id,
    });
    let fields = found.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    kit.call(Actor::OPERATOR, "submit_discovery", &found)
        .unwrap()
}

/// The discoveries that have vectors.
fn with_vectors(kit: &Kit) -> String {
    kit.shell("select discovery_id from discovery_vector order by discovery_id, model")
        .unwrap()
}

fn missing(kit: &Kit) -> i64 {
    block(kit.kernel().without_vectors()).unwrap().unwrap().1
}

both_engines! {
    // I8 I9: a vector that came later goes with the text that it was made of, from the table, from
    // its own event and from memory
    fn a_late_vector_goes_with_its_discovery(engine) {
        let (mut kit, asked) = slow(engine);
        let first = submit(&kit, "a", &json!({ "embedding": [0.5, 0.5], "model": "own" }));
        submit(&kit, "other and longer", &json!({}));
        embed_all(&kit).unwrap();
        assert_eq!(with_vectors(&kit), "1\n1\n2");
        let again = json!({ "summary": "b", "dedup_threshold": 0.999 });
        assert_eq!(submit(&kit, "c", &again)["duplicate_of"], 1, "memory has it");
        let seq = first["seq"].as_i64().unwrap();
        kit.run(redact(seq)).unwrap();
        assert_eq!(with_vectors(&kit), "2");
        let gone: Vec<_> = log_of(&kit).into_iter().filter(Recorded::is_redacted).collect();
        let kinds: Vec<_> = gone.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["discovery_submitted", "discovery_embedded"]);
        assert_eq!(submit(&kit, "c", &again)["created"], true, "memory forgot it");
        // Nobody makes another of what is left, and nobody misses it.
        let calls = asked.calls.load(Ordering::SeqCst);
        assert_eq!((missing(&kit), embed_all(&kit).unwrap()), (0, 0));
        kit.reopen(|options| options.embedder = Some(Asked::new("later"))).unwrap();
        assert_eq!(missing(&kit), 2, "only those with a text");
        embed_all(&kit).unwrap();
        assert_eq!((missing(&kit), with_vectors(&kit).as_str()), (0, "2\n2\n3\n3"));
        assert_eq!(asked.calls.load(Ordering::SeqCst), calls);
        // Once is enough.
        let head = kit.kernel().head().borrow().get();
        kit.run(redact(seq)).unwrap();
        assert_eq!(kit.kernel().head().borrow().get(), head);
    }

    // I8: a vector that points where the remnant of one does is taken away, too
    fn a_late_vector_that_says_nothing_goes_as_well(engine) {
        let (kit, _) = slow(engine);
        // The embedder makes (1, 0) of a text of 90 bytes.
        let first = submit(&kit, "a", &json!({ "summary": "x".repeat(90 - SECRET.len() - 1) }));
        embed_all(&kit).unwrap();
        assert_eq!(with_vectors(&kit), "1");
        kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
        assert_eq!((with_vectors(&kit).as_str(), missing(&kit)), ("", 0));
    }

    // I8: while the embedder is asked, the text is redacted; its vector comes too late
    fn a_vector_of_redacted_words_is_not_kept(engine) {
        let (kit, asked) = slow(engine);
        let first = submit(&kit, "a", &json!({}));
        submit(&kit, "b", &json!({}));
        let barrier = Arc::new(Barrier::new(2));
        *asked.wait.lock().unwrap() = Some(Arc::clone(&barrier));
        std::thread::scope(|scope| {
            let embedding = scope.spawn(|| block(kit.kernel().embed_some(&mut Making::default())));
            barrier.wait();
            kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
            *asked.wait.lock().unwrap() = None;
            barrier.wait();
            assert_eq!(embedding.join().unwrap().unwrap(), Step::Made);
        });
        assert_eq!((with_vectors(&kit).as_str(), missing(&kit)), ("2", 0));
        assert_eq!(kit.shell("select count(*) from event where kind = 'discovery_embedded'").unwrap(), "1");
    }
}
