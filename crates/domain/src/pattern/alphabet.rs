//! Which characters can occur in a name, so that a class of others meets nothing.

use super::fold;

/// The first and last of a run of code points.
pub(super) type Run = (u32, u32);

/// The characters of the names that patterns are matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Every scalar value except `/` and control characters.
    Exact,
    /// Of those, the characters that are their own folding.
    Folded,
}

/// What no name holds: control characters, the separator, and what is no scalar value.
pub(super) const HOLES: [Run; 4] = [(0, 0x1f), (0x2f, 0x2f), (0x7f, 0x9f), (0xd800, 0xdfff)];

impl Alphabet {
    /// Gives the code points outside, ascending, with a member between any two runs.
    fn holes(self) -> &'static [Run] {
        match self {
            Self::Exact => &HOLES,
            Self::Folded => fold::holes(),
        }
    }

    /// Returns whether any of the code points from `low` to `high` is a member.
    pub(super) fn has_any(self, (low, high): Run) -> bool {
        self.first_from(low) <= high
    }

    /// Gives the lowest member that is not below `low`; past the last code point, any number.
    pub(super) fn first_from(self, low: u32) -> u32 {
        let holes = self.holes();
        let at = holes.partition_point(|&(_, end)| end < low);
        match holes.get(at) {
            Some(&(start, end)) if start <= low => end + 1,
            _ => low,
        }
    }

    /// Gives the highest member that is not above `high`.
    pub(super) fn last_to(self, high: u32) -> Option<u32> {
        let holes = self.holes();
        let at = holes.partition_point(|&(_, end)| end < high);
        match holes.get(at) {
            Some(&(start, _)) if start <= high => start.checked_sub(1),
            _ => Some(high),
        }
    }
}
