//! What a segment is made of.

use super::alphabet::Alphabet;
use super::class::Class;
use super::fold;

/// What matches exactly one character.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    Char(char),
    Any,
    Class(Class),
}

/// One item of a segment, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    One(Atom),
    Star,
    /// Alternatives in braces; they hold no further ones.
    Choice(Vec<Vec<Piece>>),
}

impl Atom {
    /// Returns whether some character matches both.
    pub(super) fn meets(&self, other: &Self, alphabet: Alphabet) -> bool {
        match (self, other) {
            (Self::Char(left), Self::Char(right)) => left == right,
            (Self::Char(c), Self::Class(class)) | (Self::Class(class), Self::Char(c)) => {
                class.has(*c)
            }
            (Self::Class(left), Self::Class(right)) => left.meets(right, alphabet),
            (Self::Any, other) | (other, Self::Any) => other.is_possible(alphabet),
        }
    }

    /// Returns whether any character matches.
    pub(super) fn is_possible(&self, alphabet: Alphabet) -> bool {
        match self {
            Self::Char(_) | Self::Any => true,
            Self::Class(class) => class.is_possible(alphabet),
        }
    }
}

impl Piece {
    pub(super) fn char(c: char) -> Self {
        Self::One(Atom::Char(c))
    }

    /// Gives the character that this stands for, if it is no metacharacter.
    pub(super) fn as_char(&self) -> Option<char> {
        match self {
            Self::One(Atom::Char(c)) => Some(*c),
            _ => None,
        }
    }
}

/// Puts pieces in the one order that stands for all orders of the same meaning.
///
/// `*?` and `?*` mean the same, as do the orders of alternatives.
pub(super) fn ordered(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut ordered = Vec::with_capacity(pieces.len());
    let mut has_star = false;
    for piece in pieces {
        match piece {
            Piece::Star => has_star = true,
            Piece::One(Atom::Any) => ordered.push(piece),
            other => {
                ordered.extend(std::mem::take(&mut has_star).then_some(Piece::Star));
                ordered.push(match other {
                    Piece::Choice(alternatives) => choice(alternatives),
                    other => other,
                });
            }
        }
    }
    ordered.extend(has_star.then_some(Piece::Star));
    ordered
}

fn choice(alternatives: Vec<Vec<Piece>>) -> Piece {
    let mut alternatives: Vec<_> = alternatives.into_iter().map(ordered).collect();
    alternatives.sort_unstable();
    alternatives.dedup();
    Piece::Choice(alternatives)
}

/// Folds pieces; characters that stand together fold together, as they compose.
pub(super) fn folded(pieces: &[Piece]) -> Vec<Piece> {
    let mut folded = Vec::with_capacity(pieces.len());
    for run in pieces.chunk_by(|left, right| left.as_char().and(right.as_char()).is_some()) {
        let text: String = run.iter().filter_map(Piece::as_char).collect();
        folded.extend(fold::folded(&text).chars().map(Piece::char));
        folded.extend(run.iter().filter_map(|piece| match piece {
            Piece::One(Atom::Char(_)) => None,
            Piece::One(Atom::Class(class)) => Some(Piece::One(Atom::Class(class.folded()))),
            Piece::One(Atom::Any) | Piece::Star => Some(piece.clone()),
            Piece::Choice(alternatives) => {
                let alternatives = alternatives.iter().map(|pieces| self::folded(pieces));
                Some(Piece::Choice(alternatives.collect()))
            }
        }));
    }
    folded
}
