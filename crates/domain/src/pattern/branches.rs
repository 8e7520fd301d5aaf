//! Whether two segments with alternatives have a name in common.
//!
//! Each segment becomes a list of steps with forks and jumps, and the pairs of places in two lists
//! that one name can reach are visited, each once. Writing the alternatives out instead would make
//! 65,536 segments of `{a,b}` sixteen times (F12).

use super::alphabet::Alphabet;
use super::piece::{Atom, Piece};

enum Step<'a> {
    One(&'a Atom),
    Star,
    Fork(Vec<usize>),
    Jump(usize),
    End,
}

/// A place in each list, and whether the name has a character yet: no name is empty.
type Pair = (usize, usize, bool);

/// Returns whether some name matches both.
pub(super) fn meet(left: &[Piece], right: &[Piece], alphabet: Alphabet) -> bool {
    let (left, right) = (steps(left), steps(right));
    let mut visited = vec![0_u64; (2 * left.len() * right.len()).div_ceil(64)];
    let mut waiting: Vec<Pair> = vec![(0, 0, false)];
    while let Some(pair) = waiting.pop() {
        let (i, j, begun) = pair;
        let bit = 2 * (i * right.len() + j) + usize::from(begun);
        let Some(word) = visited.get_mut(bit / 64) else {
            continue;
        };
        if *word >> (bit % 64) & 1 == 1 {
            continue;
        }
        *word |= 1 << (bit % 64);
        let (Some(a), Some(b)) = (left.get(i), right.get(j)) else {
            continue;
        };
        if let (Step::End, Step::End, true) = (a, b, begun) {
            return true;
        }
        waiting.extend(skips(a, i).map(|i| (i, j, begun)));
        waiting.extend(skips(b, j).map(|j| (i, j, begun)));
        waiting.extend(both(a, b, alphabet).map(|(di, dj)| (i + di, j + dj, true)));
    }
    false
}

/// Gives the places that are reached without a character.
fn skips<'a>(step: &'a Step<'_>, at: usize) -> impl Iterator<Item = usize> + use<'a> {
    let (one, many) = match step {
        Step::Star => (Some(at + 1), [].as_slice()),
        Step::Jump(to) => (Some(*to), [].as_slice()),
        Step::Fork(to) => (None, to.as_slice()),
        Step::One(_) | Step::End => (None, [].as_slice()),
    };
    one.into_iter().chain(many.iter().copied())
}

/// Gives how far each side goes when both take the same character, if they can.
fn both(left: &Step<'_>, right: &Step<'_>, alphabet: Alphabet) -> Option<(usize, usize)> {
    match (left, right) {
        (Step::One(a), Step::One(b)) => a.meets(b, alphabet).then_some((1, 1)),
        (Step::One(a), Step::Star) => a.is_possible(alphabet).then_some((1, 0)),
        (Step::Star, Step::One(b)) => b.is_possible(alphabet).then_some((0, 1)),
        (Step::Star, Step::Star) => Some((0, 0)),
        _ => None,
    }
}

fn steps(pieces: &[Piece]) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(pieces.len() + 1);
    write(pieces, &mut steps);
    steps.push(Step::End);
    steps
}

/// Appends the steps of pieces; what follows them comes next in the list.
fn write<'a>(pieces: &'a [Piece], steps: &mut Vec<Step<'a>>) {
    for piece in pieces {
        match piece {
            Piece::One(atom) => steps.push(Step::One(atom)),
            Piece::Star => steps.push(Step::Star),
            Piece::Choice(alternatives) => {
                let fork = steps.len();
                steps.push(Step::Fork(Vec::new()));
                let (mut begins, mut ends) = (Vec::new(), Vec::new());
                for alternative in alternatives {
                    begins.push(steps.len());
                    write(alternative, steps);
                    ends.push(steps.len());
                    steps.push(Step::Jump(0));
                }
                let after = steps.len();
                let patches = ends.into_iter().map(|end| (end, Step::Jump(after)));
                for (at, step) in patches.chain([(fork, Step::Fork(begins))]) {
                    if let Some(place) = steps.get_mut(at) {
                        *place = step;
                    }
                }
            }
        }
    }
}
