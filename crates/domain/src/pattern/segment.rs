//! Segments: what stands between two slashes of a pattern.

use std::borrow::Cow;

use super::alphabet::Alphabet;
use super::branches;
use super::fold;
use super::meet::{self, Item};
use super::piece::{self, Piece};

/// What matches one component of a path.
#[derive(Clone, Debug)]
pub(super) enum Segment {
    /// Exactly this name.
    Name(Box<str>),
    Glob(Glob),
}

/// A segment with metacharacters, and what is known about it before any comparison.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    pieces: Box<[Piece]>,
    shape: Shape,
    /// What every match begins with.
    begin: Box<str>,
    /// What every match ends with, behind `begin`.
    end: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One `*` between `begin` and `end`.
    Star,
    /// No alternatives.
    Plain,
    Branching,
}

impl Segment {
    /// Makes a segment of its pieces in any spelling.
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        if let Some(name) = pieces
            .iter()
            .map(Piece::as_char)
            .collect::<Option<String>>()
        {
            return Self::Name(name.into());
        }
        let pieces = piece::ordered(pieces);
        let begin: String = pieces.iter().map_while(Piece::as_char).collect();
        let end: Vec<char> = pieces.iter().rev().map_while(Piece::as_char).collect();
        let is_choice = |piece: &Piece| matches!(piece, Piece::Choice(_));
        let mut wild = pieces.iter().filter(|piece| piece.as_char().is_none());
        let shape = match (wild.next(), wild.next()) {
            (Some(Piece::Star), None) => Shape::Star,
            _ if pieces.iter().any(is_choice) => Shape::Branching,
            _ => Shape::Plain,
        };
        Self::Glob(Glob {
            shape,
            begin: begin.into(),
            end: end.into_iter().rev().collect(),
            pieces: pieces.into(),
        })
    }

    pub(super) fn pieces(&self) -> Cow<'_, [Piece]> {
        match self {
            Self::Name(name) => name.chars().map(Piece::char).collect(),
            Self::Glob(glob) => Cow::Borrowed(&glob.pieces),
        }
    }

    /// Gives the name, if the segment matches only one by being it.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Glob(_) => None,
        }
    }

    /// Returns whether a name matches.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => **own == *name,
            Self::Glob(glob) => glob.has(name),
        }
    }

    /// Returns whether some name matches both; each must be possible.
    pub(super) fn meets(&self, other: &Self, alphabet: Alphabet) -> bool {
        match (self, other) {
            (Self::Name(name), segment) | (segment, Self::Name(name)) => segment.has(name),
            (Self::Glob(left), Self::Glob(right)) => left.meets(right, alphabet),
        }
    }

    /// Returns whether any name matches.
    pub(super) fn is_possible(&self, alphabet: Alphabet) -> bool {
        match self {
            Self::Name(_) => true,
            Self::Glob(glob) => match glob.shape {
                Shape::Star => true,
                Shape::Plain => glob.pieces.iter().all(|piece| match piece {
                    Piece::One(atom) => atom.is_possible(alphabet),
                    Piece::Star | Piece::Choice(_) => true,
                }),
                Shape::Branching => branches::meet(&glob.pieces, &[Piece::Star], alphabet),
            },
        }
    }

    pub(super) fn folded(&self) -> Self {
        match self {
            Self::Name(name) => Self::Name(fold::folded(name).into()),
            Self::Glob(glob) => Self::new(piece::folded(&glob.pieces)),
        }
    }
}

impl Glob {
    /// Returns whether a name matches.
    fn has(&self, name: &str) -> bool {
        if name.len() < self.begin.len() + self.end.len()
            || !name.starts_with(&*self.begin)
            || !name.ends_with(&*self.end)
        {
            return false;
        }
        let pieces = || name.chars().map(Piece::char).collect::<Vec<_>>();
        // Every character of a name is in the alphabet, whichever it is.
        let alphabet = Alphabet::Exact;
        match self.shape {
            Shape::Star => true,
            Shape::Plain => plain_meet(&self.pieces, &pieces(), alphabet),
            Shape::Branching => branches::meet(&self.pieces, &pieces(), alphabet),
        }
    }

    fn meets(&self, other: &Self, alphabet: Alphabet) -> bool {
        let begins = self.begin.starts_with(&*other.begin) || other.begin.starts_with(&*self.begin);
        let ends = self.end.ends_with(&*other.end) || other.end.ends_with(&*self.end);
        if !begins || !ends {
            return false;
        }
        match (self.shape, other.shape) {
            (Shape::Star, Shape::Star) => true,
            (Shape::Branching, _) | (_, Shape::Branching) => {
                branches::meet(&self.pieces, &other.pieces, alphabet)
            }
            _ => plain_meet(&self.pieces, &other.pieces, alphabet),
        }
    }
}

impl Item for Piece {
    fn is_wild(&self) -> bool {
        matches!(self, Self::Star)
    }
}

/// Returns whether some name matches both of two lists without alternatives.
fn plain_meet(left: &[Piece], right: &[Piece], alphabet: Alphabet) -> bool {
    meet::meet(left, right, |left, right| match (left, right) {
        (Piece::One(left), Piece::One(right)) => left.meets(right, alphabet),
        _ => false,
    })
}
