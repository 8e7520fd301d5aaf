//! What is left in the files of a database that lies in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use comity_testkit::{Engine, Kit};

use super::kept::secrets;
use super::{SECRET, holding, redact};

/// Tells whether a file holds some bytes.
fn holds(path: &Path, words: &str) -> bool {
    let Ok(bytes) = std::fs::read(path) else {
        return false;
    };
    let words = words.as_bytes();
    bytes.windows(words.len()).any(|window| window == words)
}

// I8: neither the pages of the file nor its write-ahead log keep what was overwritten
#[test]
fn the_files_keep_no_trace() {
    let mut kit = Kit::new(Engine::Sqlite);
    secrets(&kit);
    // Much else lies around it, so that its pages are split and its words spread.
    for number in 0..200 {
        let letter = serde_json::json!({
            "project": "web", "to": ["operator"], "subject": format!("number {number}"),
            "body": format!("{number} ").repeat(200),
        });
        kit.call(comity_kernel::Actor::OPERATOR, "send_message", &letter)
            .unwrap();
    }
    kit.restart();
    let file = kit.directory().join("comity.db");
    let copy = kit.directory().join("copy.db");
    // The file is read through a copy: closing it here would drop SQLite's locks (A8).
    std::fs::copy(&file, &copy).unwrap();
    assert!(holds(&copy, SECRET));
    for event in holding(&kit) {
        kit.run(redact(event.seq.get())).unwrap();
    }
    kit.stop();
    for name in ["comity.db", "comity.db-wal"] {
        assert!(!holds(&kit.directory().join(name), SECRET), "{name}");
        // The index keeps what words have in common apart from the rest.
        assert!(!holds(&kit.directory().join(name), &SECRET[3..]), "{name}");
    }
}

/// The lines of every table, as PostgreSQL's own shell shows them.
fn tables(kit: &Kit) -> BTreeMap<String, BTreeSet<String>> {
    let names = kit.shell("select tablename from pg_tables where schemaname = current_schema()");
    let lines = |name: &str| {
        let rows = kit.shell(&format!("select * from {name}")).unwrap();
        rows.lines().map(str::to_owned).collect()
    };
    let names = names.unwrap();
    names
        .lines()
        .map(|name| (name.to_owned(), lines(name)))
        .collect()
}

// I8: the page tells an operator of PostgreSQL which tables to write anew; no other lost a row
#[test]
fn the_tables_that_lose_rows_are_listed() {
    let page = include_str!("../../../../../docs/retention.md");
    let names = page.split("`VACUUM FULL` writes these tables anew:").nth(1);
    let names = names.unwrap().split('.').next().unwrap();
    let promised: BTreeSet<_> = names.split('`').skip(1).step_by(2).collect();
    let kit = Kit::new(Engine::Postgres);
    secrets(&kit);
    let before = tables(&kit);
    for event in holding(&kit) {
        kit.run(redact(event.seq.get())).unwrap();
    }
    let after = tables(&kit);
    let is_worn = |name: &str| !before[name].is_subset(&after[name]);
    let mut changed: BTreeSet<_> = before
        .keys()
        .map(String::as_str)
        .filter(|name| is_worn(name))
        .collect();
    // It holds where the log stands, and no words.
    assert!(changed.remove("log_head"));
    // What became of hooks and files is not in what everybody gives away here.
    changed.extend(["hook_delivery", "quarantine"]);
    assert_eq!(promised, changed);
}
