//! Looks for a path that two patterns cover.
//!
//! It tries every way to lay two patterns over each other, builds a path on the way, and asks the
//! matcher about that path: a wrong turn here can hide an overlap, but cannot make one up.

use std::collections::HashSet;

use super::glob::{Glob, Part, Set, Unit, telling};

/// Returns a path that both cover.
pub fn common_path(left: &Glob, right: &Glob) -> Option<Vec<String>> {
    let path = overlay(&left.parts, &right.parts)?;
    (left.covers(&path) && right.covers(&path)).then_some(path)
}

/// An item of a list that may hold wildcards.
trait Item {
    /// What stands for an item.
    type Sample;

    /// Whether it stands for any number of samples.
    fn is_wild(&self) -> bool;

    /// Finds a sample that it stands for.
    fn sample(&self) -> Option<Self::Sample>;

    /// Finds a sample that both stand for.
    fn shared(&self, other: &Self) -> Option<Self::Sample>;
}

/// Finds a list of samples that both lists stand for.
fn overlay<T: Item>(left: &[T], right: &[T]) -> Option<Vec<T::Sample>> {
    let mut samples = Vec::new();
    let found = lay(left, right, &mut HashSet::new(), &mut samples);
    found.then(|| {
        samples.reverse();
        samples
    })
}

/// Goes on from two places; what leads nowhere is remembered, what is found comes last first.
fn lay<T: Item>(
    left: &[T],
    right: &[T],
    dead: &mut HashSet<(usize, usize)>,
    samples: &mut Vec<T::Sample>,
) -> bool {
    if left.is_empty() && right.is_empty() {
        return true;
    }
    if !dead.insert((left.len(), right.len())) {
        return false;
    }
    let mut step = |left: &[T], right: &[T], sample: Option<T::Sample>| {
        let found = lay(left, right, dead, samples);
        if found {
            samples.extend(sample);
        }
        found
    };
    match (left.split_first(), right.split_first()) {
        (Some((l, rest)), _) if l.is_wild() && step(rest, right, None) => true,
        (_, Some((r, rest))) if r.is_wild() && step(left, rest, None) => true,
        (Some((l, left_rest)), Some((r, right_rest))) => match (l.is_wild(), r.is_wild()) {
            (true, true) => false,
            (true, false) => r
                .sample()
                .is_some_and(|one| step(left, right_rest, Some(one))),
            (false, true) => l
                .sample()
                .is_some_and(|one| step(left_rest, right, Some(one))),
            (false, false) => l
                .shared(r)
                .is_some_and(|one| step(left_rest, right_rest, Some(one))),
        },
        _ => false,
    }
}

impl Item for Part {
    type Sample = String;

    fn is_wild(&self) -> bool {
        matches!(self, Self::Deep)
    }

    fn sample(&self) -> Option<String> {
        self.shared(&Self::Name(vec![vec![Unit::Star]]))
    }

    fn shared(&self, other: &Self) -> Option<String> {
        let (Self::Name(left), Self::Name(right)) = (self, other) else {
            return None;
        };
        let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
        let mut names = pairs.filter_map(|(l, r)| {
            let name: String = overlay(l, r)?.into_iter().collect();
            let has_star = |units: &[Unit]| units.iter().any(Unit::is_wild);
            if name.is_empty() {
                // A name has a character; only stars are left to stand for it.
                return (has_star(l) && has_star(r)).then(|| "x".to_owned());
            }
            Some(name)
        });
        names.next()
    }
}

impl Item for Unit {
    type Sample = char;

    fn is_wild(&self) -> bool {
        matches!(self, Self::Star)
    }

    fn sample(&self) -> Option<char> {
        self.shared(self)
    }

    fn shared(&self, other: &Self) -> Option<char> {
        let (Self::One(left), Self::One(right)) = (self, other) else {
            return None;
        };
        either(left, right)
    }
}

fn either(left: &Set, right: &Set) -> Option<char> {
    let both = |c: &char| left.has(*c) && right.has(*c);
    telling([left, right]).into_iter().find(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeededEntropy;
    use crate::leases::glob::Case;

    const NAMES: [&str; 5] = ["a", "b", "ab", "ba", "c"];

    /// Every path of up to five names, as many as two patterns of three segments can need.
    fn paths() -> Vec<Vec<String>> {
        let mut all: Vec<Vec<String>> = Vec::new();
        let mut last: Vec<Vec<String>> = vec![Vec::new()];
        for _ in 0..5 {
            let longer = last.iter().flat_map(|path| {
                NAMES
                    .iter()
                    .map(move |name| [&path[..], &[(*name).to_owned()]].concat())
            });
            last = longer.collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    fn a_pattern(dice: &SeededEntropy) -> String {
        let segments = [
            "a", "b", "ab", "*", "**", "a*", "*b", "?", "[ab]", "[!a]", "{a,b}", "{ab,b?}", "c",
        ];
        let pick = || segments[usize::try_from(dice.below(13)).unwrap()];
        let length = dice.below(3) + 1;
        (0..length).map(|_| pick()).collect::<Vec<_>>().join("/")
    }

    // Q3 F12: the search finds a common path if and only if there is one
    #[test]
    fn the_search_agrees_with_trying_every_path() {
        let (dice, paths) = (SeededEntropy::new(7), paths());
        let mut met = 0;
        for _ in 0..600 {
            let texts = [a_pattern(&dice), a_pattern(&dice)];
            let [left, right] = [0, 1].map(|n| Glob::read(&texts[n], Case::Matters));
            let tried = paths
                .iter()
                .any(|path| left.covers(path) && right.covers(path));
            let found = common_path(&left, &right);
            assert_eq!(found.is_some(), tried, "{texts:?} {found:?}");
            assert_eq!(common_path(&right, &left).is_some(), tried, "{texts:?}");
            met += usize::from(tried);
        }
        assert!((60..540).contains(&met), "{met}");
    }

    // F12
    #[test]
    fn known_pairs_meet_or_do_not() {
        let meets = |left: &str, right: &str, case| {
            common_path(&Glob::read(left, case), &Glob::read(right, case)).is_some()
        };
        for (left, right) in [
            ("src", "src/a/b.rs"),
            ("src/", "src/**/*.rs"),
            ("a/a/a/**", "**/b/b/b"),
            (r"app/\[id\]/page.tsx", "app/*/page.*"),
            ("[!a]", "[a-c]"),
            ("{a,b}*.rs", "*{c,d}.rs"),
        ] {
            assert!(meets(left, right, Case::Matters), "{left} {right}");
        }
        for (left, right) in [
            ("src", "srcs"),
            ("src/*", "src/a/b"),
            ("*.rs", "a/b.rs"),
            ("**/*.rs", "src/a.txt/*.txt"),
            ("[a-c]", "[!a-c]"),
            ("README.md", "readme.MD"),
        ] {
            assert!(!meets(left, right, Case::Matters), "{left} {right}");
        }
        assert!(meets("README.md", "readme.MD", Case::Folded));
        assert!(meets("[A-C].rs", "b.RS", Case::Folded));
        let bomb = ["**/a"; 8].join("/");
        assert!(!meets(&bomb, &format!("{bomb}/b"), Case::Matters));
        assert!(meets(&bomb, "**/a", Case::Matters));
    }
}
