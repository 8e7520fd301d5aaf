//! Finding discoveries, and who makes their vectors.

mod missing;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use comity_domain::search::Query as Words;
use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::embedder::{EmbedError, Embedder, Pace};
use comity_kernel::redaction::RedactEvent;
use comity_kernel::{Actor, Error, Making, Step};
use comity_testkit::kit::request;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

/// Titles and summaries.
const TEXTS: [(&str, &str); 6] = [
    (
        "Row locks in SQLite",
        "Writers wait for each other in a queue of their own",
    ),
    (
        "Row locks in MySQL",
        "Gap locks surprise everybody who inserts",
    ),
    (
        "A queue for writers",
        "One thread owns the connection; commands wait in line",
    ),
    (
        "Dark mode for the mobile app",
        "Customers complain about bright screens at night",
    ),
    (
        "Flaky checkout test",
        "The total differs by one cent after rounding each line",
    ),
    ("日本語 café", "Straße with NEAR(x y) and \"quotes\""),
];

fn submit(kit: &Kit, n: usize, more: &Value) -> Result<Value, Error> {
    let (title, summary) = TEXTS[n % TEXTS.len()];
    let mut wanted = json!({
        "project": "web", "source": "blog", "source_id": n.to_string(),
        "title": title, "summary": summary,
    });
    for (name, value) in more.as_object().unwrap() {
        wanted[name] = value.clone();
    }
    kit.call(Actor::OPERATOR, "submit_discovery", &wanted)
}

fn filled(engine: Engine) -> Kit {
    let kit = Kit::new(engine);
    kit.project("/srv/web");
    for n in 0..TEXTS.len() {
        submit(&kit, n, &json!({})).unwrap();
    }
    kit
}

fn search(kit: &Kit, wanted: &Value) -> Result<Value, Error> {
    kit.call(Actor::OPERATOR, "search_discoveries", wanted)
}

fn ids(found: &Value) -> Vec<i64> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["discovery"]["id"].as_i64().unwrap())
        .collect()
}

fn packed(numbers: &[f32]) -> String {
    Embedding::new(numbers.to_vec()).unwrap().to_base64()
}

/// An embedder that has to be asked: it makes vectors of two numbers, unless it is told to fail or
/// to wait.
pub(crate) struct Asked {
    model: ModelId,
    fails: AtomicBool,
    pub(crate) calls: AtomicUsize,
    pub(crate) wait: Mutex<Option<Arc<Barrier>>>,
    /// Texts with this word fail, and all that come with them.
    refuses: &'static str,
    /// More texts at a time fail.
    most: usize,
}

impl Asked {
    pub(crate) fn new(model: &str) -> Arc<Self> {
        Self::fussy(model, "nothing of that kind", usize::MAX)
    }

    fn fussy(model: &str, refuses: &'static str, most: usize) -> Arc<Self> {
        Arc::new(Self {
            model: ModelId::parse(model).unwrap(),
            fails: AtomicBool::default(),
            calls: AtomicUsize::default(),
            wait: Mutex::default(),
            refuses,
            most,
        })
    }
}

impl Embedder for Asked {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimension(&self) -> usize {
        2
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }

    /// By their length, so that equal texts are equal.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError> {
        self.calls.fetch_add(texts.len(), Ordering::SeqCst);
        let wait = self.wait.lock().unwrap().clone();
        if let Some(barrier) = wait {
            barrier.wait();
            barrier.wait();
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(EmbedError::Away("it is away".to_owned()));
        }
        if texts.len() > self.most || texts.iter().any(|text| text.contains(self.refuses)) {
            return Err(EmbedError::Refused("not these".to_owned()));
        }
        let angle = |text: &&str| u16::try_from(text.len() % 90).unwrap();
        let vector = |text| {
            let angle = f32::from(angle(text)).to_radians();
            Ok(Embedding::new(vec![angle.cos(), angle.sin()]).unwrap())
        };
        Ok(texts.iter().map(vector).collect())
    }
}

pub(crate) fn block<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

/// Makes all vectors that are missing; answers how many steps made some.
pub(crate) fn embed_all(kit: &Kit) -> Result<usize, Error> {
    let mut making = Making::default();
    let steps = steps(kit, &mut making)?;
    assert_eq!(making.trouble(), None);
    Ok(steps.iter().filter(|step| **step == Step::Made).count())
}

/// Goes on to the end.
fn steps(kit: &Kit, making: &mut Making) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    loop {
        match block(kit.kernel().embed_some(making))? {
            Step::Nothing => return Ok(steps),
            step => steps.push(step),
        }
        assert!(steps.len() < 500, "it does not come to an end");
    }
}

fn missing(kit: &Kit) -> i64 {
    block(kit.kernel().without_vectors()).unwrap().unwrap().1
}

both_engines! {
    fn words_and_nearness_are_put_together(engine) {
        let kit = filled(engine);
        let found = search(&kit, &json!({ "text": "row locks", "limit": 3 })).unwrap();
        let mut both = ids(&found);
        both.truncate(2);
        both.sort_unstable();
        assert_eq!(both, [1, 2]);
        assert_eq!((&found["model"], &found["not_embedded"]), (&json!("hashed-1"), &json!(0)));
        let first = &found["hits"][0];
        assert!(first["similarity"].as_f64().unwrap() > 0.3, "{first}");
        let rank = first["text_rank"].as_i64().unwrap();
        assert!((1..=2).contains(&rank), "{first}");
        // Found by nearness alone: not all the words are there.
        let found = search(&kit, &json!({ "text": "locks of rows in sqlite", "limit": 1 })).unwrap();
        assert_eq!(ids(&found), [1]);
        assert_eq!(found["hits"][0]["text_rank"], Value::Null);
        let score = found["hits"][0]["score"].as_f64().unwrap();
        assert!((score - 1.0 / 61.0).abs() < 1e-12);
    }

    // S8: the same words are found on both engines, and nothing raw reaches either
    fn words_are_found_as_the_grammar_says(engine) {
        let mut kit = filled(engine);
        kit.reopen(|options| options.embedder = None).unwrap();
        for text in [
            "row", "row locks", "\"row locks\"", "locks -mysql", "-row", "subject:queue", "queue",
            "cafe", "strasse", "near(x", "quot*", "日本語", "\"one cent\"", "*", "'", "a AND b",
        ] {
            let Ok(query) = Words::parse(text) else {
                let refused = search(&kit, &json!({ "text": text })).unwrap_err().to_json();
                assert_eq!(refused["field"], "text", "{text}");
                continue;
            };
            let texts = TEXTS.iter().zip(1_i64..);
            let expected: Vec<_> = texts
                .filter(|((title, summary), _)| query.matches(title, summary))
                .map(|(_, id)| id)
                .collect();
            let found = search(&kit, &json!({ "text": text })).unwrap();
            let mut ids = ids(&found);
            ids.sort_unstable();
            assert_eq!(ids, expected, "{text}");
            assert_eq!(found["words_only"], "there is no embedder");
            assert_eq!(found["not_embedded"], 6);
        }
        let refused = search(&kit, &json!({ "text": "from:Blue" })).unwrap_err().to_json();
        assert_eq!(refused["field"], "text");
    }

    fn refused_words_keep_near_ones_out(engine) {
        let kit = filled(engine);
        let found = search(&kit, &json!({ "text": "row locks -mysql" })).unwrap();
        assert!(!ids(&found).contains(&2), "{found}");
        assert!(ids(&found).contains(&1));
        // Only words to refuse: there is nothing to look for.
        let refused = search(&kit, &json!({ "text": "-row" })).unwrap_err();
        assert_eq!(refused.to_json()["field"], "text");
    }

    // J12: equal vectors, the oldest first; and J11: spaces are never mixed
    fn vectors_are_compared_within_their_model(engine) {
        let kit = filled(engine);
        let own = |n: usize, model: &str, vector: &[f64]| {
            submit(&kit, n, &json!({ "embedding": vector, "model": model })).unwrap()
        };
        own(10, "small", &[1.0, 1.0]);
        own(11, "small", &[2.0, 2.0]);
        own(12, "small", &[1.0, 0.0]);
        own(13, "other", &[1.0, 1.0]);
        own(14, "small", &[4.0, 4.0]);
        let wanted = json!({ "vector": packed(&[8.0, 8.0]), "model": "small" });
        let found = search(&kit, &wanted).unwrap();
        assert_eq!(ids(&found), [7, 8, 11, 9]);
        assert_eq!(found["hits"][0]["similarity"], 1.0);
        assert_eq!(found["hits"][0]["score"], 1.0);
        assert_eq!(found["not_embedded"], 7);
        // The embedder's unless said.
        let other = search(&kit, &json!({ "vector": packed(&[1.0, 1.0]) })).unwrap_err().to_json();
        assert_eq!((&other["error"], &other["field"]), (&json!("invalid"), &json!("vector")));
        assert!(other["message"].as_str().unwrap().contains("384"), "{other}");
        for (wrong, field) in [
            (json!({ "vector": packed(&[1.0]), "model": "small" }), "vector"),
            (json!({ "vector": packed(&[1.0]), "model": "small", "project": "web" }), "vector"),
            (json!({ "vector": "AADAfw==", "model": "small" }), "vector"),
            (json!({ "vector": "AAAAAA==", "model": "small" }), "vector"),
            (json!({ "vector": [1.0, 1.0], "model": "small" }), "vector"),
            (json!({ "vector": packed(&[1.0, 1.0]), "text": "x" }), "vector"),
            (json!({ "text": "x", "model": "small" }), "model"),
            (json!({}), "text"),
        ] {
            let refused = search(&kit, &wrong).unwrap_err();
            assert_eq!(refused.code().status, 422, "{wrong}");
            assert_eq!(refused.to_json()["field"], field, "{wrong}");
        }
        let unknown = search(&kit, &json!({ "vector": packed(&[1.0]), "model": "none" })).unwrap();
        assert_eq!((ids(&unknown), &unknown["not_embedded"]), (vec![], &json!(11)));
    }

    fn filters_hold_for_words_and_vectors(engine) {
        let kit = filled(engine);
        kit.project("/srv/api");
        let elsewhere = json!({ "project": "api", "source": "news", "score": 0.9 });
        submit(&kit, 0, &elsewhere).unwrap();
        submit(&kit, 6, &json!({ "source": "news", "score": 0.6 })).unwrap();
        let id = json!({ "id": 1, "reason": "old" });
        kit.call(Actor::OPERATOR, "dismiss_discovery", &id).unwrap();
        let near = comity_domain::vector::hashed::embed("Row locks in SQLite").to_base64();
        for (filter, expected) in [
            (json!({}), vec![1, 7, 8, 2]),
            (json!({ "project": "web" }), vec![1, 8, 2]),
            (json!({ "source": "news" }), vec![7, 8]),
            (json!({ "project": "api", "source": "news" }), vec![7]),
            (json!({ "state": "dismissed" }), vec![1]),
            (json!({ "tier": "medium" }), vec![8]),
            (json!({ "min_score": 0.7 }), vec![7]),
            (json!({ "state": "promoted" }), vec![]),
        ] {
            for mut wanted in [json!({ "text": "row locks" }), json!({ "vector": near })] {
                for (name, value) in filter.as_object().unwrap() {
                    wanted[name] = value.clone();
                }
                let found = search(&kit, &wanted).unwrap();
                let mut ids = ids(&found);
                ids.retain(|id| [1, 2, 7, 8].contains(id));
                let mut expected = expected.clone();
                ids.sort_unstable();
                expected.sort_unstable();
                assert_eq!(ids, expected, "{wanted}");
            }
        }
    }

    fn agents_and_observers_find_what_they_may_see(engine) {
        let kit = filled(engine);
        kit.project("/srv/api");
        submit(&kit, 0, &json!({ "project": "api" })).unwrap();
        let (_, blue) = kit.agent("api", "Blue");
        let wanted = json!({ "text": "row locks" });
        let found = kit.call(blue.clone(), "search_discoveries", &wanted).unwrap();
        assert_eq!(ids(&found), [7]);
        let elsewhere = json!({ "text": "row", "project": "web" });
        assert!(kit.call(blue, "search_discoveries", &elsewhere).is_err());
    }

    fn nearly_the_same_is_not_added_without_a_vector_of_ones_own(engine) {
        let kit = filled(engine);
        let again = json!({
            "source_id": "again", "title": "Row locks in SQLite!",
            "summary": "writers wait for each other, in a queue of their own", "dedup_threshold": 0.9,
        });
        let same = submit(&kit, 0, &again).unwrap();
        assert_eq!((&same["created"], &same["duplicate_of"]), (&json!(false), &json!(1)));
        let other = json!({ "source_id": "b", "title": "Something else", "dedup_threshold": 0.9 });
        assert_eq!(submit(&kit, 0, &other).unwrap()["created"], true);
        // The same text exactly, at the highest threshold.
        let exactly = json!({ "source_id": "c", "dedup_threshold": 1 });
        assert_eq!(submit(&kit, 3, &exactly).unwrap()["duplicate_of"], 4);
    }

    // C2: the vector is no part of the request; the same key is the same request
    fn an_embedder_does_not_change_the_request(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let caller = || comity_testkit::kit::operator_with_key("k");
        let wanted = json!({ "project": "web", "source": "s", "source_id": "1", "title": "t" });
        let first = kit.call(caller(), "submit_discovery", &wanted).unwrap();
        kit.reopen(|options| options.embedder = None).unwrap();
        let again = kit.call(caller(), "submit_discovery", &wanted).unwrap();
        assert_eq!(first, again);
    }

    fn without_an_embedder_callers_bring_their_own(engine) {
        let kit = Kit::with(engine, |options| options.embedder = None);
        kit.project("/srv/web");
        let refused = submit(&kit, 0, &json!({ "dedup_threshold": 0.9 })).unwrap_err();
        assert_eq!(refused.to_json()["field"], "dedup_threshold");
        submit(&kit, 0, &json!({})).unwrap();
        let own = json!({ "embedding": [1, 0], "model": "m", "dedup_threshold": 0.9 });
        submit(&kit, 1, &own).unwrap();
        assert_eq!(submit(&kit, 2, &own).unwrap()["duplicate_of"], 2);
        assert_eq!(embed_all(&kit).unwrap(), 0);
        let refused = search(&kit, &json!({ "vector": packed(&[1.0, 0.0]) })).unwrap_err();
        assert_eq!(refused.to_json()["field"], "model");
    }

    fn a_slow_embedder_is_asked_before_the_transaction(engine) {
        let asked = Asked::new("acme");
        let kit = Kit::with(engine, |options| options.embedder = Some(asked.clone()));
        kit.project("/srv/web");
        // Nothing is compared: nobody is asked, and the vector comes later.
        let made = submit(&kit, 0, &json!({})).unwrap();
        assert_eq!(made["discovery"]["models"], json!([]));
        assert_eq!(asked.calls.load(Ordering::SeqCst), 0);
        assert_eq!(embed_all(&kit).unwrap(), 1);
        let compared = json!({ "dedup_threshold": 0.999_999 });
        assert_eq!(submit(&kit, 6, &compared).unwrap()["duplicate_of"], 1);
        // While it is asked, others write.
        let barrier = Arc::new(Barrier::new(2));
        *asked.wait.lock().unwrap() = Some(Arc::clone(&barrier));
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| submit(&kit, 1, &compared));
            barrier.wait();
            let written = submit(&kit, 3, &json!({})).unwrap();
            assert_eq!(written["discovery"]["id"], 2);
            *asked.wait.lock().unwrap() = None;
            barrier.wait();
            assert_eq!(slow.join().unwrap().unwrap()["discovery"]["models"], json!(["acme"]));
        });
    }

    fn an_embedder_that_is_away_stops_only_what_needs_it(engine) {
        let asked = Asked::new("acme");
        asked.fails.store(true, Ordering::SeqCst);
        let kit = Kit::with(engine, |options| options.embedder = Some(asked.clone()));
        kit.project("/srv/web");
        submit(&kit, 0, &json!({})).unwrap();
        let refused = submit(&kit, 1, &json!({ "dedup_threshold": 0.9 })).unwrap_err();
        assert_eq!((refused.code().word, refused.code().status), ("embedder_unavailable", 503));
        assert_eq!(refused.to_json()["retry_after_ms"], 5_000);
        let own = json!({ "embedding": [1, 0], "model": "m", "dedup_threshold": 0.9 });
        submit(&kit, 1, &own).unwrap();
        let found = search(&kit, &json!({ "text": "row locks" })).unwrap();
        assert_eq!(ids(&found).len(), 2);
        assert_eq!(found["words_only"], "it is away");
        assert!(matches!(embed_all(&kit), Err(Error::EmbedderUnavailable { .. })));
        let counted = block(kit.kernel().without_vectors()).unwrap().unwrap();
        assert_eq!((counted.0.as_str(), counted.1), ("acme", 2));
        asked.fails.store(false, Ordering::SeqCst);
        assert_eq!(embed_all(&kit).unwrap(), 1);
        let counted = block(kit.kernel().without_vectors()).unwrap().unwrap();
        assert_eq!(counted.1, 0);
        let found = search(&kit, &json!({ "text": "row locks" })).unwrap();
        assert_eq!((&found["model"], found.get("words_only")), (&json!("acme"), None));
    }

    fn another_embedder_makes_its_own_vectors_and_keeps_the_others(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        for n in 0..450 {
            submit(&kit, n, &json!({})).unwrap();
        }
        submit(&kit, 450, &json!({ "embedding": [1, 0], "model": "m" })).unwrap();
        assert_eq!(embed_all(&kit).unwrap(), 1);
        let asked = Asked::new("acme");
        kit.reopen(|options| options.embedder = Some(asked.clone())).unwrap();
        // In pages; what was done before a stop is not done again.
        let first = block(kit.kernel().embed_some(&mut Making::default())).unwrap();
        assert_eq!((first, missing(&kit)), (Step::Made, 251));
        kit.restart();
        assert_eq!(embed_all(&kit).unwrap(), 2);
        assert_eq!(asked.calls.load(Ordering::SeqCst), 451);
        assert_eq!(embed_all(&kit).unwrap(), 0);
        let last = kit.call(Actor::OPERATOR, "get_discovery", &json!({ "id": 451 })).unwrap();
        assert_eq!(last["discovery"]["models"], json!(["acme", "hashed-1", "m"]));
        let found = search(&kit, &json!({ "text": "row locks" })).unwrap();
        assert_eq!((&found["model"], &found["not_embedded"]), (&json!("acme"), &json!(0)));
    }

    fn a_model_that_changed_its_dimension_is_told_of(engine) {
        let mut kit = Kit::with(engine, |options| options.embedder = None);
        kit.project("/srv/web");
        submit(&kit, 0, &json!({ "embedding": [1, 0, 0], "model": "acme" })).unwrap();
        kit.reopen(|options| options.embedder = Some(Asked::new("acme"))).unwrap();
        let refused = submit(&kit, 1, &json!({ "dedup_threshold": 0.9 })).unwrap_err();
        assert_eq!(refused.code().status, 422);
        submit(&kit, 1, &json!({})).unwrap();
        let found = search(&kit, &json!({ "text": "row" })).unwrap();
        assert!(found["words_only"].as_str().unwrap().contains("dimension"), "{found}");
        // Elsewhere they are made all the same.
        kit.project("/srv/api");
        submit(&kit, 2, &json!({ "project": "api" })).unwrap();
        let mut making = Making::default();
        assert_eq!(steps(&kit, &mut making).unwrap(), [Step::Made]);
        let said = making.trouble().unwrap();
        assert!(said.starts_with("1 discoveries") && said.contains("must hold 3 numbers"), "{said}");
        assert_eq!(missing(&kit), 1);
    }

    // A text that fails takes no other with it, and does not stop those behind it
    fn a_text_without_a_vector_is_passed_over(engine) {
        let kit = Kit::with(engine, |options| {
            options.embedder = Some(Asked::fussy("acme", "Flaky", usize::MAX));
        });
        kit.project("/srv/web");
        for n in 0..30 {
            submit(&kit, n, &json!({})).unwrap();
        }
        let mut making = Making::default();
        let done = steps(&kit, &mut making).unwrap();
        assert_eq!(done.iter().filter(|step| **step == Step::Passed).count(), 5);
        assert_eq!(missing(&kit), 5);
        assert_eq!(making.trouble().unwrap(), "5 discoveries were passed over; the last is 29: not these");
        // What comes later is made, too; one that begins anew tries them again.
        submit(&kit, 30, &json!({})).unwrap();
        assert_eq!(steps(&kit, &mut making).unwrap(), [Step::Made]);
        assert_eq!(missing(&kit), 5);
        let mut afresh = Making::default();
        steps(&kit, &mut afresh).unwrap();
        assert_eq!(afresh.trouble(), making.trouble());
    }

    // A service that is too slow for many at a time is asked for fewer
    fn a_service_gets_as_many_texts_as_it_can_take(engine) {
        let kit = Kit::with(engine, |options| {
            options.embedder = Some(Asked::fussy("acme", "nothing of that kind", 7));
        });
        kit.project("/srv/web");
        for n in 0..40 {
            submit(&kit, n, &json!({})).unwrap();
        }
        let mut making = Making::default();
        let done = steps(&kit, &mut making).unwrap();
        assert!(!done.contains(&Step::Passed), "{done:?}");
        assert_eq!((missing(&kit), making.trouble()), (0, None));
    }

    // J11: what the embedder makes has one size, also where it has made nothing yet
    fn nobody_claims_another_size_for_the_embedders_model(engine) {
        let kit = Kit::with(engine, |options| options.embedder = Some(Asked::new("acme")));
        kit.project("/srv/web");
        let odd = submit(&kit, 0, &json!({ "embedding": [1, 0, 0], "model": "acme" })).unwrap_err();
        assert_eq!(odd.to_json()["field"], "embedding", "{odd}");
        let topic = |numbers: Value| {
            let wanted = json!({ "project": "web", "topic_vector": numbers, "topic_model": "acme" });
            kit.call(Actor::OPERATOR, "update_interest_profile", &wanted)
        };
        let odd = topic(json!([1, 0, 0])).unwrap_err();
        assert_eq!(odd.to_json()["field"], "topic_vector", "{odd}");
        topic(json!([1, 0])).unwrap();
        submit(&kit, 0, &json!({ "embedding": [1, 0], "model": "acme" })).unwrap();
        submit(&kit, 1, &json!({ "embedding": [1, 0, 0], "model": "other" })).unwrap();
        assert_eq!(embed_all(&kit).unwrap(), 1);
    }

    // J11: each project has its size; who looks everywhere may look for any of them
    fn a_search_everywhere_takes_the_size_of_any_project(engine) {
        let kit = Kit::with(engine, |options| options.embedder = None);
        for (n, (project, embedding)) in [("web", json!([1, 0, 0])), ("api", json!([1, 0]))].into_iter().enumerate() {
            kit.project(&format!("/srv/{project}"));
            submit(&kit, n, &json!({ "project": project, "embedding": embedding, "model": "m" })).unwrap();
        }
        let near = |numbers: &[f32]| search(&kit, &json!({ "vector": packed(numbers), "model": "m" }));
        assert_eq!(ids(&near(&[1.0, 0.0, 0.0]).unwrap()), [1]);
        assert_eq!(ids(&near(&[1.0, 0.0]).unwrap()), [2]);
        let odd = near(&[1.0; 4]).unwrap_err();
        assert_eq!(odd.to_json()["field"], "vector", "{odd}");
        let here = json!({ "project": "web", "vector": packed(&[1.0, 0.0]), "model": "m" });
        assert_eq!(search(&kit, &here).unwrap_err().to_json()["field"], "vector");
    }

    // PostgreSQL tells how often the writer waits for rows
    fn the_writer_compares_with_what_a_reader_read(engine) {
        let mut kit = filled(engine);
        let compare = |kit: &Kit, n: usize| {
            let waits = || kit.kernel().round_trips().map(|trips| trips.reading.load(Ordering::SeqCst));
            let before = waits();
            let answer = submit(kit, n, &json!({ "dedup_threshold": 0.99 })).unwrap();
            assert_eq!(answer["duplicate_of"], 1);
            waits().zip(before).map(|(after, before)| after - before)
        };
        kit.restart();
        block(kit.kernel().warm_vectors()).unwrap();
        let warm = compare(&kit, 6);
        assert_eq!(warm.is_some(), engine == Engine::Postgres);
        kit.restart();
        assert_eq!(compare(&kit, 12), warm);
        // What somebody thought of a discovery is no vector.
        let opinion = json!({ "id": 2, "signal": "wrong", "note": "a secret" });
        let opinion = kit.call(Actor::OPERATOR, "feedback", &opinion).unwrap();
        let redact = json!({ "seq": opinion["seq"], "reason": "a leak" });
        kit.run(request::<RedactEvent>(&redact)).unwrap();
        assert_eq!(compare(&kit, 18), warm);
    }

    // The index of words is compared with what the discoveries say
    fn a_doctor_sees_missing_words(engine) {
        let mut kit = filled(engine);
        assert!(kit.doctor().ok);
        let sql = match engine {
            Engine::Sqlite => {
                "insert into discovery_text (discovery_text, rowid, subject, body)
                 values ('delete', 3, 'a queue for writers',
                    'one thread owns the connection commands wait in line')"
            }
            Engine::Postgres => "delete from discovery_text where discovery_id = 3",
        };
        kit.stop();
        kit.shell(sql).unwrap();
        kit.restart();
        let findings = kit.doctor();
        let words = findings.checks.iter().find(|check| check.name == "words").unwrap();
        assert!(!words.ok, "{words:?}");
        kit.expect_damage();
    }
}
