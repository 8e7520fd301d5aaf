//! Classes: `[a-z]` and `[!a-z]`, one character of a name.

use std::sync::Arc;

use super::alphabet::{Alphabet, Run};
use super::fold;

/// The code points that can be in names at all; a class that names nothing is written with it.
const ALL: Run = (0x20, 0x10_ffff);

/// A set of characters as it is written: ascending ranges, none of them touching another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    ranges: Arc<[Run]>,
    sign: Sign,
    /// The code points that match: the ranges, or what lies between them.
    matched: Arc<[Run]>,
}

/// Whether a class matches its ranges or everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// `[a]`
    In,
    /// `[!a]`
    NotIn,
}

impl Class {
    /// Makes a class from ranges in any order; their ends must be characters of names.
    pub(super) fn new(sign: Sign, ranges: Vec<Run>) -> Self {
        let bridged = |end, start| !Alphabet::Exact.has_any((end + 1, start - 1));
        Self::of_ranges(sign, fold::joined(ranges, bridged))
    }

    fn of_ranges(sign: Sign, ranges: Vec<Run>) -> Self {
        // No text stands for the empty list, so the class with the other sign and every character
        // is written.
        let (sign, ranges) = match (sign, ranges.is_empty()) {
            (Sign::In, true) => (Sign::NotIn, vec![ALL]),
            (Sign::NotIn, true) => (Sign::In, vec![ALL]),
            (sign, false) => (sign, ranges),
        };
        let matched = match sign {
            Sign::In => ranges.clone(),
            Sign::NotIn => between(&ranges),
        };
        Self {
            ranges: ranges.into(),
            sign,
            matched: matched.into(),
        }
    }

    pub(super) fn sign(&self) -> Sign {
        self.sign
    }

    /// Gives the ranges as they are written.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (char, char)> {
        let ends = |&(low, high): &Run| char::from_u32(low).zip(char::from_u32(high));
        self.ranges.iter().filter_map(ends)
    }

    /// Returns whether a character of a name matches.
    pub(super) fn has(&self, c: char) -> bool {
        covers(&self.matched, u32::from(c))
    }

    /// Returns whether any character of a name matches.
    pub(super) fn is_possible(&self, alphabet: Alphabet) -> bool {
        self.matched.iter().any(|&run| alphabet.has_any(run))
    }

    /// Returns whether some character matches both.
    pub(super) fn meets(&self, other: &Self, alphabet: Alphabet) -> bool {
        let (mut left, mut right) = (self.matched.iter(), other.matched.iter());
        let (mut a, mut b) = (left.next(), right.next());
        while let (Some(x), Some(y)) = (a, b) {
            let shared = (x.0.max(y.0), x.1.min(y.1));
            if shared.0 <= shared.1 && alphabet.has_any(shared) {
                return true;
            }
            if x.1 < y.1 {
                a = left.next();
            } else {
                b = right.next();
            }
        }
        false
    }

    /// Gives the class of the folded members.
    ///
    /// A member that folds to several characters is left out, because a class is one character.
    /// Ranges are written as one where only characters lie between them that are not their own
    /// folding and fold into the class: that keeps a long range short, and folding it again gives
    /// the same.
    pub(super) fn folded(&self) -> Self {
        let mut runs = Vec::new();
        for &(low, high) in &*self.ranges {
            let ends = (
                Alphabet::Folded.first_from(low),
                Alphabet::Folded.last_to(high),
            );
            if let (low, Some(high)) = ends
                && low <= high
            {
                runs.push((low, high));
            }
            runs.extend(fold::folds_in((low, high)).filter_map(only));
        }
        let is_void = |end: u32, start: u32| !Alphabet::Folded.has_any((end + 1, start - 1));
        // Inside a run there are holes, too, so what a bridged gap folds to is looked for in runs
        // that are joined only where they touch.
        let touching = fold::joined(runs, |end, start| start == end + 1);
        let bridged = |end: u32, start: u32| {
            let mut folds = fold::folds_in((end + 1, start - 1)).filter_map(only);
            is_void(end, start) && folds.all(|(c, _)| covers(&touching, c))
        };
        Self::of_ranges(self.sign, fold::joined(touching.clone(), bridged))
    }
}

/// Gives the only character of a folding as a run.
fn only(fold: &str) -> Option<Run> {
    let mut chars = fold.chars();
    let first = u32::from(chars.next()?);
    chars.next().is_none().then_some((first, first))
}

fn covers(runs: &[Run], c: u32) -> bool {
    let at = runs.partition_point(|&(_, end)| end < c);
    runs.get(at).is_some_and(|&(start, _)| start <= c)
}

/// Gives what lies before, between and after ascending runs.
fn between(runs: &[Run]) -> Vec<Run> {
    let starts = runs.iter().map(|run| run.0).chain([ALL.1 + 1]);
    let ends = [0].into_iter().chain(runs.iter().map(|run| run.1 + 1));
    let gaps = ends.zip(starts).filter(|(low, above)| low < above);
    gaps.map(|(low, above)| (low, above - 1)).collect()
}
