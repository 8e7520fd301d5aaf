//! Sets of places in a list, as bits.

const BITS: usize = 64;

/// A set of numbers below a bound that is given when it is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<u64>);

impl Places {
    pub(super) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(BITS)])
    }

    pub(super) fn has(&self, place: usize) -> bool {
        let word = self.0.get(place / BITS);
        word.is_some_and(|word| word >> (place % BITS) & 1 == 1)
    }

    pub(super) fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / BITS) {
            *word |= 1 << (place % BITS);
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Gives the members that are in `kept`, and the followers of those that are in `moved`.
    pub(super) fn stepped(&self, kept: &Self, moved: &Self) -> Self {
        let mut carry = 0;
        let words = self.0.iter().zip(kept.0.iter().zip(&moved.0));
        let stepped = words.map(|(word, (kept, moved))| {
            let from = word & moved;
            let to = from << 1 | carry;
            carry = from >> (BITS - 1);
            to | word & kept
        });
        Self(stepped.collect())
    }
}
