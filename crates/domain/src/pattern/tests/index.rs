//! The index against a scan of everything in it.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use super::pattern;
use crate::pattern::Index;

const POOL: [&str; 41] = [
    "**",
    "*",
    "a",
    "b",
    "a/b",
    "a/b/c",
    "a/c",
    "b/a",
    "a/*",
    "a/*/",
    "*/a",
    "a/**/c",
    "**/c",
    "**/a/**",
    "a/b/*",
    "a/[b-z]",
    "a/{b,c}/d",
    "a/b/c/d",
    "a/c/d",
    "*/b/*",
    "ab",
    "ab/**",
    "a/b/",
    "?/b",
    "**/b/*",
    "{a,b}",
    "{}",
    "a/b*",
    "**/*.rs",
    "**/*.r?",
    "**/*.tx?",
    "a/*.[rt]s",
    "**/{a.rs,b.tx}",
    "*/a?rs",
    "**/\u{161}s",
    "**/as",
    "**/?s",
    "a.rs",
    "a/a.rs",
    "**/a.*s",
    "**/b*s",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_index_finds_what_a_scan_finds(
        changes in vec((0..24_u32, weighted(0.7, select(&POOL[..]))), 0..64),
        copy_at in 0..64_usize,
    ) {
        let (mut index, mut scan) = (Index::new(), BTreeMap::new());
        let mut copied = (index.clone(), scan.clone());
        for (at, (key, text)) in changes.into_iter().enumerate() {
            if let Some(text) = text {
                index.insert(key, pattern(text));
                scan.insert(key, pattern(text));
            } else {
                prop_assert_eq!(index.remove(key), scan.remove(&key).is_some());
            }
            if at == copy_at {
                copied = (index.clone(), scan.clone());
            }
        }
        for (index, scan) in [(index, scan), copied] {
            prop_assert_eq!((index.len(), index.is_empty()), (scan.len(), scan.is_empty()));
            for query in POOL.map(pattern) {
                let hits = scan.iter().filter(|(_, pattern)| pattern.overlaps(&query));
                let keys: Vec<u32> = hits.map(|(key, _)| *key).collect();
                prop_assert_eq!(index.overlapping(&query), keys, "{}", query); // F12
            }
        }
    }
}

#[test]
fn removing_everything_leaves_nothing() {
    let mut index = Index::default();
    for (key, text) in (0_u64..).zip(POOL) {
        index.insert(key, pattern(text));
    }
    let all = index.overlapping(&pattern("**"));
    assert_eq!(all.len(), POOL.len() - 1); // `{}` matches nothing
    for key in 0..POOL.len() as u64 {
        assert!(index.remove(key) && !index.remove(key));
    }
    assert!(index.is_empty() && index.is_pruned());
}
