//! The last characters of what a pattern covers: most patterns that do not meet end differently.

use super::path::{Cover, Part};
use super::piece::{Atom, Piece};

/// What is known of the last four characters of every path that a pattern covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// The low byte of each character, the last one lowest.
    bytes: u32,
    /// Ones where the character is known.
    known: u32,
}

impl Ending {
    pub(super) fn of(cover: &Cover) -> Self {
        let mut ending = Self { bytes: 0, known: 0 };
        // Behind `**` anything can stand.
        let Some(Part::One(last)) = cover.parts().last() else {
            return ending;
        };
        for (at, piece) in last.pieces().iter().rev().take(4).enumerate() {
            match piece {
                Piece::One(Atom::Char(c)) => {
                    ending.bytes |= (u32::from(*c) & 0xff) << (8 * at);
                    ending.known |= 0xff << (8 * at);
                }
                Piece::One(Atom::Any | Atom::Class(_)) => {}
                // From here on nobody knows how far from the end anything stands.
                Piece::Star | Piece::Choice(_) => break,
            }
        }
        ending
    }

    /// Returns whether a path could end as both want; if not, the patterns do not overlap.
    pub(super) const fn may_meet(self, other: Self) -> bool {
        (self.bytes ^ other.bytes) & self.known & other.known == 0
    }
}
