//! Whether two segments with alternatives have a name in common.
//!
//! Each segment becomes a list of steps with forks and jumps. Every place of the left list gets the
//! set of places of the right one that the same beginning of a name can lead to. All steps lead
//! forward or stay, so one pass is enough, and a set is a few words of bits. Writing the alternatives
//! out instead would make 65,536 segments of `{a,b}` sixteen times (F12).

use std::collections::BTreeMap;

use super::alphabet::Alphabet;
use super::piece::{Atom, Piece};
use super::places::Places;

enum Step<'a> {
    One(&'a Atom),
    Star,
    Fork(Vec<usize>),
    Jump(usize),
    End,
}

/// Returns whether some name matches both.
pub(super) fn meet(left: &[Piece], right: &[Piece], alphabet: Alphabet) -> bool {
    let (left, mut right) = (List::new(left, alphabet), List::new(right, alphabet));
    // No name is empty, so what is reached without a character is known apart.
    let (left_starts, right_starts) = (left.starts(), right.starts());
    let mut reached = vec![Places::new(right.steps.len()); left.steps.len()];
    for (at, step) in left.steps.iter().enumerate() {
        let Some(mut here) = reached.get_mut(at).map(std::mem::take) else {
            return false;
        };
        let is_start = left_starts.has(at);
        if !is_start && here.is_empty() {
            continue;
        }
        right.skip(&mut here);
        let targets = match step {
            Step::One(atom) => {
                if is_start {
                    here.add_all(&right_starts);
                }
                here = right.take(atom, &here);
                &[at + 1]
            }
            Step::Star => {
                if is_start {
                    here.add_all(&right.take(&Atom::Any, &right_starts));
                }
                right.take_any_number(&mut here);
                &[at + 1]
            }
            Step::Fork(targets) => targets.as_slice(),
            Step::Jump(target) => std::slice::from_ref(target),
            Step::End => return here.has(right.steps.len() - 1),
        };
        for &target in targets {
            if let Some(next) = reached.get_mut(target) {
                next.add_all(&here);
            }
        }
    }
    false
}

/// The steps of a segment, and what is known of them.
struct List<'a> {
    steps: Vec<Step<'a>>,
    alphabet: Alphabet,
    /// The steps that can be left without a character.
    skipping: Vec<usize>,
    stars: Places,
    /// The steps that a character takes, for the characters that were asked for.
    takers: BTreeMap<char, Places>,
}

impl<'a> List<'a> {
    fn new(pieces: &'a [Piece], alphabet: Alphabet) -> Self {
        let mut steps = Vec::with_capacity(pieces.len() + 1);
        write(pieces, &mut steps);
        steps.push(Step::End);
        let mut stars = Places::new(steps.len());
        let mut skipping = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Star => {
                    stars.add(at);
                    skipping.push(at);
                }
                Step::Fork(_) | Step::Jump(_) => skipping.push(at),
                Step::One(_) | Step::End => {}
            }
        }
        Self {
            steps,
            alphabet,
            skipping,
            stars,
            takers: BTreeMap::new(),
        }
    }

    /// Gives the places that are reached without a character.
    fn starts(&self) -> Places {
        let mut starts = Places::new(self.steps.len());
        starts.add(0);
        self.skip(&mut starts);
        starts
    }

    /// Adds what is reached without a character.
    fn skip(&self, places: &mut Places) {
        for &at in &self.skipping {
            if places.has(at) {
                self.leave(at, places);
            }
        }
    }

    fn leave(&self, at: usize, places: &mut Places) {
        match self.steps.get(at) {
            Some(Step::Fork(targets)) => targets.iter().for_each(|&target| places.add(target)),
            Some(Step::Jump(target)) => places.add(*target),
            Some(Step::Star | Step::One(_)) => places.add(at + 1),
            Some(Step::End) | None => {}
        }
    }

    /// Gives what is reached from `places` with a character that matches `atom`.
    fn take(&mut self, atom: &Atom, places: &Places) -> Places {
        if places.is_empty() || !atom.is_possible(self.alphabet) {
            return Places::new(self.steps.len());
        }
        if let Atom::Char(c) = atom {
            if !self.takers.contains_key(c) {
                self.takers.insert(*c, self.takers_of(atom));
            }
            if let Some(takers) = self.takers.get(c) {
                return places.stepped(&self.stars, takers);
            }
        }
        places.stepped(&self.stars, &self.takers_of(atom))
    }

    fn takers_of(&self, atom: &Atom) -> Places {
        let mut takers = Places::new(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            if matches!(step, Step::One(own) if own.meets(atom, self.alphabet)) {
                takers.add(at);
            }
        }
        takers
    }

    /// Adds what is reached with any number of any characters.
    fn take_any_number(&self, places: &mut Places) {
        for (at, step) in self.steps.iter().enumerate() {
            let is_open = !matches!(step, Step::One(atom) if !atom.is_possible(self.alphabet));
            if is_open && places.has(at) {
                self.leave(at, places);
            }
        }
    }
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
