//! Patterns as lists of segments.

use super::alphabet::Alphabet;
use super::meet::{self, Item};
use super::segment::Segment;

/// One item of a pattern, from left to right.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// `**`: any number of components.
    Deep,
    One(Segment),
}

/// What a pattern covers beside the paths that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    Nothing,
    /// Everything below them.
    Below,
}

/// What a pattern covers, ready to be compared.
#[derive(Clone, Debug)]
pub(super) struct Cover {
    /// The parts; the last is [`Part::Deep`] if everything below is covered.
    parts: Box<[Part]>,
    tail: Tail,
    alphabet: Alphabet,
    is_possible: bool,
}

impl Part {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Deep => None,
            Self::One(segment) => segment.name(),
        }
    }
}

impl Item for Part {
    fn is_wild(&self) -> bool {
        matches!(self, Self::Deep)
    }
}

impl Cover {
    /// Makes the cover of a pattern's own parts, of which no two neighbours are [`Part::Deep`].
    pub(super) fn new(mut parts: Vec<Part>, tail: Tail, alphabet: Alphabet) -> Self {
        let is_deep = parts.last().is_some_and(Item::is_wild);
        let is_plain = parts.iter().all(|part| part.name().is_some());
        let tail = match (tail, is_deep, is_plain) {
            (Tail::Below, false, _) | (Tail::Nothing, false, true) => Tail::Below,
            (_, true, _) | (Tail::Nothing, false, false) => Tail::Nothing,
        };
        let is_possible = parts.iter().all(|part| match part {
            Part::Deep => true,
            Part::One(segment) => segment.is_possible(alphabet),
        });
        if tail == Tail::Below {
            parts.push(Part::Deep);
        }
        Self {
            parts: parts.into(),
            tail,
            alphabet,
            is_possible,
        }
    }

    /// Gives the parts with a last one for everything below.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Gives the parts as they are written.
    pub(super) fn own_parts(&self) -> &[Part] {
        let implied = usize::from(self.tail == Tail::Below);
        let own = self.parts.len() - implied;
        self.parts.get(..own).unwrap_or_default()
    }

    pub(super) fn tail(&self) -> Tail {
        self.tail
    }

    /// Returns whether there is no metacharacter.
    pub(super) fn is_plain(&self) -> bool {
        self.own_parts().iter().all(|part| part.name().is_some())
    }

    /// Returns whether some path is covered by both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.meets_in(other, &other.parts)
    }

    /// Returns whether a path is covered itself, and not only something below it.
    pub(super) fn covers(&self, path: &Self) -> bool {
        self.meets_in(path, path.own_parts())
    }

    fn meets_in(&self, other: &Self, parts: &[Part]) -> bool {
        let alphabet = self.shared_alphabet(other);
        self.is_possible
            && other.is_possible
            && meet::meet(&self.parts, parts, |left, right| match (left, right) {
                (Part::One(left), Part::One(right)) => left.meets(right, alphabet),
                _ => false,
            })
    }

    /// Gives the characters of the names that two patterns can meet in.
    pub(super) fn shared_alphabet(&self, other: &Self) -> Alphabet {
        if self.alphabet == other.alphabet {
            self.alphabet
        } else {
            Alphabet::Exact
        }
    }

    pub(super) fn folded(&self) -> Self {
        let parts = self.own_parts().iter().map(|part| match part {
            Part::Deep => Part::Deep,
            Part::One(segment) => Part::One(segment.folded()),
        });
        Self::new(parts.collect(), self.tail, Alphabet::Folded)
    }
}
