//! Many at once: identical requests, and a crowd with overlapping patterns.

use std::collections::BTreeMap;

use comity_kernel::operation::{self, Call};
use comity_testkit::leases::{History, follow};
use comity_testkit::{Engine, Kit, SeededEntropy, both_engines};
use serde_json::Value;
use tokio::task::JoinSet;

use super::*;

const AGENTS: usize = 32;

/// Commands that each agent has under way at a time: all of them fit into one batch.
const EACH: usize = 2;

/// Below a few directories, so that some are free while others are fought over.
const PATTERNS: [&str; 20] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "*",
    "?",
    "[ab]",
    "[!a]",
    "{a,c}",
    "a/*",
    "*/b",
    "*/*",
    "**",
    "**/b",
    "a/**",
    "**/b/c",
    "a/{b,c}",
    "*.rs",
    "a.rs",
    "{a,b}.{rs,md}",
];
const DIRECTORIES: u64 = 48;

/// Whether anybody writes down what has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sweeper {
    Runs,
    IsOff,
}

/// Everybody who wants files, and what they got.
struct Crowd<'a> {
    /// Everybody's kernels; agents take turns between them.
    kernels: Vec<&'a Kernel>,
    agents: Vec<Actor>,
    dice: SeededEntropy,
    /// What each believes to hold, held or not.
    known: BTreeMap<usize, Vec<i64>>,
    words: BTreeMap<String, usize>,
}

impl<'a> Crowd<'a> {
    fn new(kit: &Kit, kernels: Vec<&'a Kernel>, seed: u64) -> Self {
        kit.project("/srv/web");
        let agent = |n| kit.agent("web", &format!("Agent{n}")).1;
        Self {
            kernels,
            agents: (0..AGENTS).map(agent).collect(),
            dice: SeededEntropy::new(seed),
            known: BTreeMap::new(),
            words: BTreeMap::new(),
        }
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.dice.below(bound as u64)).unwrap()
    }

    fn pattern(&self) -> String {
        let end = PATTERNS[self.below(PATTERNS.len())];
        match self.below(200) {
            0 => format!("**/{end}"),
            1 => format!("d?/{end}"),
            _ => format!("d{}/{end}", self.dice.below(DIRECTORIES)),
        }
    }

    /// What somebody wants next.
    fn wish(&self, who: usize) -> (&'static str, Value) {
        let known = self.known.get(&who).map_or(&[][..], Vec::as_slice);
        let ttl = format!("{}s", self.dice.below(20) + 1);
        match (self.below(20), known) {
            (0 | 1, [.., id]) => ("renew", json!({ "ids": [id], "ttl": ttl })),
            (2, [id, ..]) => ("release", json!({ "ids": [id] })),
            (3, [_, ..]) => ("release", json!({ "all": true })),
            (4, [_, ..]) => ("renew", json!({ "all": true, "ttl": ttl })),
            _ => {
                let many = [1, 1, 1, 2, 3][self.below(5)];
                let patterns: Vec<_> = (0..many).map(|_| self.pattern()).collect();
                let mode = ["exclusive", "exclusive", "shared"][self.below(3)];
                let wish = json!({ "patterns": patterns, "mode": mode, "ttl": ttl });
                ("reserve_files", wish)
            }
        }
    }

    /// Everybody asks at once; returns when all are answered.
    fn round(&mut self) {
        let mut calls: Vec<(usize, &str, Call)> = Vec::new();
        for n in 0..AGENTS * EACH {
            let who = n % AGENTS;
            let (name, request) = self.wish(who);
            let kernel = self.kernels[who % self.kernels.len()];
            let operation = operation::find(name).unwrap();
            let call = (operation.call)(kernel, self.agents[who].clone().into(), request);
            calls.push((who, name, call));
        }
        if self.below(8) == 0 {
            let known: Vec<_> = self.known.values().flatten().collect();
            let lease = known
                .get(self.below(known.len().max(1)))
                .map_or(1, |id| **id);
            let request = json!({ "id": lease, "reason": "a test" });
            let operation = operation::find("force_release").unwrap();
            let kernel = self.kernels[0];
            let call = (operation.call)(kernel, Actor::OPERATOR.into(), request);
            calls.push((AGENTS, "force_release", call));
        }
        let mut answers = soon(async {
            // A call is on its way once it is polled: all of them, then the first answer.
            let mut under_way = JoinSet::new();
            for (n, (who, name, call)) in calls.into_iter().enumerate() {
                under_way.spawn(async move { (n, who, name, call.await) });
            }
            under_way.join_all().await
        });
        answers.sort_by_key(|(n, ..)| *n);
        for (_, who, name, answer) in answers {
            self.hear(who, name, answer);
        }
    }

    fn hear(&mut self, who: usize, name: &str, answer: Result<operation::Outcome, Error>) {
        let word = match &answer {
            Ok(_) => "ok",
            Err(error) => error.code().word,
        };
        let expected = matches!(
            word,
            "ok" | "reservation_conflict" | "lease_expired" | "lease_ended" | "limit_exceeded"
        );
        assert!(expected, "{name}: {answer:?}");
        *self.words.entry(format!("{name} {word}")).or_default() += 1;
        let known = self.known.entry(who).or_default();
        match (name, answer) {
            ("reserve_files", Ok(outcome)) => {
                let leases = outcome.answer["reservations"].as_array().unwrap().clone();
                let ids = leases.iter().map(|lease| lease["id"].as_i64().unwrap());
                let new: Vec<_> = ids.filter(|id| !known.contains(id)).collect();
                known.extend(new);
            }
            // What is lost is forgotten, sooner or later.
            ("release" | "renew", _) => known.clear(),
            _ => {}
        }
    }
}

fn grants(engine: Engine) -> usize {
    let wanted = std::env::var("COMITY_LEASE_GRANTS").ok();
    let wanted: Option<usize> = wanted.and_then(|wanted| wanted.parse().ok());
    match engine {
        Engine::Sqlite => wanted.unwrap_or(3_000),
        // Every statement is a round trip.
        Engine::Postgres => wanted.map_or(600, |wanted| wanted / 20),
    }
}

/// Lets a crowd run until so many leases were granted, each judged before the next round.
fn judged(kit: &Kit, mut crowd: Crowd<'_>, sweeper: Sweeper, wanted: usize) -> History {
    let (mut history, mut seen) = (History::default(), 0);
    while history.leases().len() < wanted {
        crowd.round();
        let pause = crowd.dice.below(1_500_000);
        kit.clock.advance_us(i64::try_from(pause).unwrap());
        if sweeper == Sweeper::Runs && crowd.below(4) == 0 {
            let kernel = crowd.kernels[crowd.below(crowd.kernels.len())];
            sweep(kernel);
        }
        seen = follow(kit.kernel(), &mut history, seen).unwrap();
    }
    let told = |word: &str| crowd.words.get(word).copied().unwrap_or_default();
    let (granted, refused) = (
        told("reserve_files ok"),
        told("reserve_files reservation_conflict"),
    );
    println!(
        "leases: {} granted and judged, {refused} of {} requests refused, ended: {} expired, {} \
         released, {} forced",
        history.leases().len(),
        granted + refused,
        history.count_ended("expired"),
        history.count_ended("released"),
        history.count_ended("forced"),
    );
    assert!(
        refused * 10 > (granted + refused) * 2,
        "too tame: {:?}",
        crowd.words
    );
    history
}

both_engines! {
    // F6 3.9: an answer that was lost is asked for again, many times at once
    fn identical_requests_at_once_are_one_lease(engine) {
        let kit = Kit::new(engine);
        let [blue] = town(&kit);
        let gate = Held::at_batch(&kit);
        let first = ask(&kit, &blue, reserve("src/*.rs", 60));
        gate.reached();
        let mut tickets: Vec<_> = (1..16).map(|_| ask(&kit, &blue, reserve("src/*.rs", 60))).collect();
        gate.open();
        tickets.push(first);
        let answers: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap().answer).collect();
        let ids: std::collections::BTreeSet<_> = answers
            .iter()
            .flat_map(|answer| answer.reservations.iter().map(|one| (one.id, one.fence)))
            .collect();
        assert_eq!(ids.len(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
        assert_eq!(kit.shell("select count(*) from reservation").unwrap(), "1");
        assert_eq!(count(&kit, "files_reserved"), 1);
    }

    // F1 Q3 F15: 32 agents, every grant judged, no two in each other's way
    fn a_crowd_never_holds_what_overlaps(engine) {
        let kit = Kit::new(engine);
        let crowd = Crowd::new(&kit, vec![kit.kernel()], 1);
        let history = judged(&kit, crowd, Sweeper::Runs, grants(engine));
        assert!(history.count_ended("expired") * 10 > history.leases().len());
    }

    // F15: nobody needs the sweeper; a lease ends when its time is up
    fn a_crowd_without_a_sweeper_holds_nothing_longer(engine) {
        let kit = Kit::new(engine);
        let crowd = Crowd::new(&kit, vec![kit.kernel()], 2);
        judged(&kit, crowd, Sweeper::IsOff, grants(Engine::Postgres));
        let before = kit.kernel().head();
        let before = before.borrow().get();
        kit.clock.advance_us(HOUR);
        assert_eq!(kit.kernel().head().borrow().get(), before, "nobody wrote a thing");
        let everything = kit.run_as(kit.agent("web", "Last").1, reserve("**", 60)).unwrap();
        assert!(everything.answer.created);
    }

    // F1 L2: agents of two kernels on one database
    fn a_crowd_of_two_kernels_never_holds_what_overlaps(engine) {
        let kit = Kit::with(engine, |options| options.sharing = comity_kernel::options::Sharing::Shared);
        let other = kernels::second(&kit);
        let crowd = Crowd::new(&kit, vec![kit.kernel(), &other], 3);
        judged(&kit, crowd, Sweeper::Runs, grants(Engine::Postgres));
    }
}
