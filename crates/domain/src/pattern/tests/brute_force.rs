//! Overlap against all paths that could matter.
//!
//! Take a path that two patterns cover and drop every component that `**` takes in both: it is still
//! covered by both, and has at most as many components as the patterns have other parts. The same
//! holds for the characters of a name and `*`. So it is enough to look at paths that short, over an
//! alphabet with one letter more than the patterns name.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::naive::{Part, Source, Token, matches_name, needs};
use super::pattern;
use crate::pattern::Pattern;

/// The longest names that are tried: 1,092 of three letters and two of them.
const CHARS_MAX: usize = 6;

fn atom(letters: &'static [char]) -> impl Strategy<Value = Token> {
    let set = subsequence(letters, 1..=letters.len().min(3));
    prop_oneof![
        4 => select(letters).prop_map(Token::Char),
        2 => Just(Token::Any),
        2 => Just(Token::Star),
        1 => set.clone().prop_map(Token::In),
        1 => set.prop_map(Token::NotIn),
    ]
}

/// Two stars side by side are no pattern.
fn is_sound(tokens: &[Token]) -> bool {
    let is_double = |pair: &[Token]| matches!(pair, [Token::Star, Token::Star]);
    let lists = tokens.iter().filter_map(|token| match token {
        Token::OneOf(lists) => Some(lists),
        _ => None,
    });
    !tokens.windows(2).any(is_double) && lists.flatten().all(|list| is_sound(list))
}

fn name(letters: &'static [char]) -> impl Strategy<Value = Vec<Token>> {
    let choice = vec(vec(atom(letters), 0..=2), 1..=3).prop_map(Token::OneOf);
    let token = prop_oneof![3 => atom(letters), 1 => choice];
    vec(token, 1..=4).prop_filter("no pattern, or too long to try", |tokens| {
        is_sound(tokens) && needs(tokens) <= CHARS_MAX / 2
    })
}

/// Segments of which any two that meet have one of [`NAMES`] in common.
fn part() -> impl Strategy<Value = Part> {
    use Token::{Any, Char, In, NotIn, OneOf, Star};
    let (a, b) = (vec![Char('a')], vec![Char('b')]);
    let segments = vec![
        a.clone(),
        b.clone(),
        vec![Char('a'), Char('b')],
        vec![Star],
        vec![Any],
        vec![Char('a'), Star],
        vec![Star, Char('b')],
        vec![In(vec!['a', 'b'])],
        vec![NotIn(vec!['a'])],
        vec![NotIn(vec!['b'])],
        vec![OneOf(vec![a.clone(), b])],
        vec![OneOf(vec![vec![], a])],
        vec![OneOf(vec![vec![]])],
    ];
    prop_oneof![1 => Just(None), 2 => select(segments).prop_map(Some)]
}

const NAMES: [&str; 4] = ["a", "b", "c", "ab"];

fn source() -> impl Strategy<Value = Source> {
    let parts = vec(part(), 1..=5).prop_filter("too deep to try", |parts| {
        parts.iter().flatten().count() <= 3
    });
    (parts, any::<bool>()).prop_map(|(parts, ends_with_slash)| Source {
        parts,
        ends_with_slash,
    })
}

/// Returns whether `is_met` holds for any list of 1 to `most` items.
fn any_list<T: Copy>(items: &[T], most: usize, is_met: &mut dyn FnMut(&[T]) -> bool) -> bool {
    let mut lists: Vec<Vec<T>> = vec![vec![]];
    for _ in 0..most.max(1) {
        let longer = |list: &Vec<T>| {
            let longer = items
                .iter()
                .map(|item| [list.as_slice(), &[*item]].concat());
            longer.collect::<Vec<_>>()
        };
        lists = lists.iter().flat_map(longer).collect();
        if lists.iter().any(|list| is_met(list)) {
            return true;
        }
    }
    false
}

fn share_a_name(left: &[Token], right: &[Token]) -> bool {
    any_list(&['a', 'b', 'c'], needs(left) + needs(right), &mut |name| {
        matches_name(left, name) && matches_name(right, name)
    })
}

fn share_a_path(left: &Source, right: &Source) -> bool {
    any_list(&NAMES, left.needs() + right.needs(), &mut |path| {
        left.covers(path) && right.covers(path)
    })
}

fn glob(tokens: Vec<Token>) -> Source {
    Source {
        parts: vec![Some(tokens)],
        ends_with_slash: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    #[test]
    fn names_overlap_if_and_only_if_some_name_matches_both(
        left in name(&['a', 'b']),
        right in name(&['a', 'b']),
        clutter in any::<u32>(),
    ) {
        let is_plain = |tokens: &[Token]| tokens.iter().all(|t| matches!(t, Token::Char(_)));
        prop_assume!(!is_plain(&left) && !is_plain(&right)); // those cover what is below them
        let answer = share_a_name(&left, &right);
        let [a, b] = [left, right].map(|tokens| pattern(&glob(tokens).text(clutter)));
        prop_assert_eq!(a.overlaps(&b), answer, "{} {}", a, b); // F12
        prop_assert_eq!(b.overlaps(&a), answer, "{} {}", b, a);
    }

    #[test]
    fn folded_names_overlap_if_and_only_if_some_folded_name_matches_both(
        left in name(&['a', 'A', 'b', 'B']),
        right in name(&['a', 'A', 'b', 'B']),
    ) {
        let [left, right] = [left, right].map(glob);
        let folded = |source: &Source| pattern(&source.text(0)).folded();
        let [a, b] = [folded(&left), folded(&right)];
        let [left, right] = [left.lowered(), right.lowered()];
        let answer = match (&left.parts[0], &right.parts[0]) {
            (Some(left), Some(right)) => share_a_name(left, right),
            _ => false,
        };
        let is_plain = a.path().is_some() || b.path().is_some();
        prop_assert!(is_plain || a.overlaps(&b) == answer, "{} {}", a, b); // F12
        prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
        prop_assert_eq!(pattern(&left.text(0)), a);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_536))]

    #[test]
    fn patterns_overlap_if_and_only_if_some_path_is_covered_by_both(
        left in source(),
        right in source(),
        clutter in any::<u32>(),
    ) {
        let answer = share_a_path(&left, &right);
        let [a, b] = [&left, &right].map(|source| pattern(&source.text(clutter)));
        prop_assert_eq!(a.overlaps(&b), answer, "{} {}", a, b); // F12
        prop_assert_eq!(b.overlaps(&a), answer, "{} {}", b, a);
        prop_assert_eq!(a.folded().overlaps(&b.folded()), answer);
        let again = Pattern::parse(a.as_str()).map(|again| again.overlaps(&b));
        prop_assert_eq!(again, Ok(answer));
        prop_assert_eq!(a, pattern(&left.text(0)));
    }
}
