//! Whether two sequences with wildcards have something in common.
//!
//! The same question is asked of paths, whose wildcard is `**` and whose items are segments, and of
//! names, whose wildcard is `*` and whose items are characters.

/// An item of a sequence.
pub(super) trait Item {
    /// Returns whether it stands for any number of anything, rather than for exactly one.
    fn is_wild(&self) -> bool;
}

/// Returns whether some sequence matches both, if every item by itself can be matched.
///
/// Exact, without memory, and `one_meets` is asked at most once for any pair of items (F12).
/// Where both begin (or end) with single items, these meet or there is no common sequence. Then a
/// wildcard is at a beginning and one is at an end, or a side is empty:
///
/// 1. If the side that begins with one does not end with one, write down what the other side wants
///    and then what this side wants: the wildcard at the end of the other takes the second part, the
///    one at the beginning of this side the first.
/// 2. If it also ends with one, and the other side has one anywhere, write what this side wants in
///    place of that; the outer wildcards take the rest.
/// 3. Else the other side is a plain list, and each block between two wildcards of this side is best
///    placed as far to the left as it meets.
pub(super) fn meet<T: Item>(left: &[T], right: &[T], one_meets: impl Fn(&T, &T) -> bool) -> bool {
    let (mut left, mut right) = (left, right);
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right)
        && !a.is_wild()
        && !b.is_wild()
    {
        if !one_meets(a, b) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    while let ([left_rest @ .., a], [right_rest @ .., b]) = (left, right)
        && !a.is_wild()
        && !b.is_wild()
    {
        if !one_meets(a, b) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    let is_wild = |side: &[T]| side.iter().any(Item::is_wild);
    match (is_wild(left), is_wild(right)) {
        (true, true) => true,
        (true, false) => fit(left, right, one_meets),
        (false, true) => fit(right, left, |a, b| one_meets(b, a)),
        (false, false) => left.is_empty() && right.is_empty(),
    }
}

/// Returns whether the blocks of `wild` fit into `plain` in order.
///
/// There are wildcards at both ends of `wild`, or `plain` is empty.
fn fit<T: Item>(wild: &[T], plain: &[T], one_meets: impl Fn(&T, &T) -> bool) -> bool {
    let mut rest = plain;
    for block in wild.split(Item::is_wild).filter(|block| !block.is_empty()) {
        let meets = |window: &[T]| block.iter().zip(window).all(|(a, b)| one_meets(a, b));
        let Some(at) = rest.windows(block.len()).position(meets) else {
            return false;
        };
        rest = rest.get(at + block.len()..).unwrap_or_default();
    }
    true
}
