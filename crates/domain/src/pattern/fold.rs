//! Case folding, for projects in which names that differ only in case are one file.
//!
//! A character folds to the lower case of its upper case, in full (`ß` becomes `ss`), until nothing
//! changes, in NFC. Only names in NFC are ever folded, so a character that NFC replaces has no
//! folding: it is not there.

use std::sync::LazyLock;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::alphabet::{HOLES, Run};

/// The last character that can have case or be replaced by NFC: the end of the third plane.
pub(super) const LAST: char = '\u{2ffff}';
/// More rounds than any folding needs: `ẞ` takes two.
const ROUNDS_MAX: usize = 4;

struct Table {
    /// The characters with another folding than themselves, ascending.
    folds: Vec<(char, Box<str>)>,
    /// The code points that no folded name holds.
    holes: Vec<Run>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut folds = Vec::new();
    let mut absent = HOLES.to_vec();
    for c in '\0'..=LAST {
        let is_plain = c.is_ascii() || is_nfc_quick(std::iter::once(c)) != IsNormalized::No;
        if !is_plain {
            absent.push((u32::from(c), u32::from(c)));
        } else if let Some(fold) = computed(c) {
            absent.push((u32::from(c), u32::from(c)));
            folds.push((c, fold.into_boxed_str()));
        }
    }
    let holes = joined(absent, |end, start| start == end + 1);
    Table { folds, holes }
});

/// Folds a text in NFC; the result is in NFC and its own folding.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match fold_of(c) {
            Some(fold) => folded.push_str(fold),
            None => folded.push(c),
        }
    }
    folded.nfc().collect()
}

/// Gives the characters from `low` to `high` that fold to something else, with what they fold to.
pub(super) fn folds_in((low, high): Run) -> impl Iterator<Item = &'static str> {
    let folds = &TABLE.folds;
    let from = folds.partition_point(|&(c, _)| u32::from(c) < low);
    let rest = folds.get(from..).unwrap_or_default().iter();
    rest.take_while(move |&&(c, _)| u32::from(c) <= high)
        .map(|(_, fold)| &**fold)
}

/// Gives the code points that no folded name holds, as ascending runs with gaps between them.
pub(super) fn holes() -> &'static [Run] {
    &TABLE.holes
}

/// Sorts runs and joins those that overlap or that `bridged` says to, given an end and a start.
pub(super) fn joined(mut runs: Vec<Run>, bridged: impl Fn(u32, u32) -> bool) -> Vec<Run> {
    runs.sort_unstable();
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for (start, end) in runs {
        match joined.last_mut() {
            Some(last) if start <= last.1 || bridged(last.1, start) => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

fn fold_of(c: char) -> Option<&'static str> {
    let folds = &TABLE.folds;
    let at = folds.binary_search_by_key(&c, |&(c, _)| c).ok()?;
    folds.get(at).map(|(_, fold)| &**fold)
}

/// Computes the folding of a character, if it is another than itself.
fn computed(c: char) -> Option<String> {
    let is_caseless = c.to_uppercase().eq([c]) && c.to_lowercase().eq([c]);
    if is_caseless {
        return None;
    }
    let mut folded = String::from(c);
    for _ in 0..ROUNDS_MAX {
        let upper = folded.chars().flat_map(char::to_uppercase);
        let lower = upper.flat_map(char::to_lowercase);
        folded = lower.nfc().collect();
    }
    (!folded.chars().eq([c])).then_some(folded)
}
