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
/// Exact, without memory, and `one_meets` is asked at most once for any pair of items (F12):
///
/// 1. Where both begin (or end) with single items, these meet or there is no common sequence.
/// 2. Otherwise a wildcard is at a beginning and one is at an end. If they are on different sides,
///    write down what the side with the trailing one wants, then what the other wants: the trailing
///    wildcard takes the second part, the leading one the first.
/// 3. If one side has both and the other a wildcard between its ends, write what the first side
///    wants in place of that wildcard; the outer wildcards take the rest.
/// 4. Else the other side is a plain list, and each block between two wildcards of the first is best
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
    let is_led = |side: &[T]| side.first().is_some_and(Item::is_wild);
    let is_trailed = |side: &[T]| side.last().is_some_and(Item::is_wild);
    if left.is_empty() || right.is_empty() {
        return left.iter().chain(right).all(Item::is_wild);
    }
    if is_led(left) && is_trailed(right) || is_led(right) && is_trailed(left) {
        return true;
    }
    if is_led(left) {
        right.iter().any(Item::is_wild) || fit(left, right, one_meets)
    } else {
        let swapped = |a: &T, b: &T| one_meets(b, a);
        left.iter().any(Item::is_wild) || fit(right, left, swapped)
    }
}

/// Returns whether the blocks of `wild`, with wildcards at both ends, fit into `plain` in order.
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
