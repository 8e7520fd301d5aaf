//! The order of things that wait for each other.

use std::collections::{BTreeMap, BTreeSet};

/// Returns things so that each comes after all it waits for, the smaller first where the order is
/// free; nothing if some wait for each other in a circle.
///
/// Links to things that are not among them do not count.
pub fn topological<T: Copy + Ord>(things: &[T], links: &[(T, T)]) -> Option<Vec<T>> {
    let known: BTreeSet<T> = things.iter().copied().collect();
    let within = |(before, after): &&(T, T)| known.contains(before) && known.contains(after);
    let links: BTreeSet<(T, T)> = links.iter().filter(within).copied().collect();
    let mut waits: BTreeMap<T, usize> = known.iter().map(|thing| (*thing, 0)).collect();
    for (_, after) in &links {
        *waits.entry(*after).or_default() += 1;
    }
    let is_free = |(thing, waits): (&T, &usize)| (*waits == 0).then_some(*thing);
    let mut free: BTreeSet<T> = waits.iter().filter_map(is_free).collect();
    let mut ordered = Vec::with_capacity(known.len());
    while let Some(thing) = free.pop_first() {
        ordered.push(thing);
        for (_, after) in links.iter().filter(|(before, _)| *before == thing) {
            if let Some(left) = waits.get_mut(after) {
                *left -= 1;
                if *left == 0 {
                    free.insert(*after);
                }
            }
        }
    }
    (ordered.len() == known.len()).then_some(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_comes_first_and_the_smaller_where_it_is_free() {
        assert_eq!(topological(&[3, 1, 2], &[]), Some(vec![1, 2, 3]));
        assert_eq!(topological(&[1, 2, 3], &[(3, 1)]), Some(vec![2, 3, 1]));
        assert_eq!(
            topological(&[1, 2, 3, 4], &[(4, 2), (2, 1), (4, 2), (9, 1)]),
            Some(vec![3, 4, 2, 1])
        );
    }

    #[test]
    fn a_circle_has_no_order() {
        assert_eq!(topological(&[1], &[(1, 1)]), None);
        assert_eq!(topological(&[1, 2, 3], &[(1, 2), (2, 3), (3, 1)]), None);
    }
}
