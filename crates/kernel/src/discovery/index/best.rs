//! Keeps the nearest of many vectors: all are looked at quickly, few exactly.
//!
//! The quick product is off by no more than the slack. So whatever belongs to the nearest `most`
//! is not more than twice the slack below the quick product of the one that is `most`-nearest by
//! it, and those few are compared exactly.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use comity_domain::DiscoveryId;
use comity_domain::vector::{Unit, quick, slack};

use super::Nearest;
use super::block::Chunk;

/// Candidates that may gather before those are dropped that others have outdone.
const SPARE: usize = 1_024;

/// The nearest so far.
pub(super) struct Best<'a> {
    unit: &'a Unit,
    most: usize,
    margin: f32,
    /// The largest quick products so far, `most` of them.
    heap: BinaryHeap<Reverse<Product>>,
    /// Nothing below this can be among the nearest.
    floor: f32,
    candidates: Vec<Candidate>,
    /// What was compared exactly at once.
    exact: Vec<(DiscoveryId, f64)>,
    looked_at: usize,
}

struct Candidate {
    quick: f32,
    chunk: Arc<Chunk>,
    row: usize,
}

/// A quick product; they are never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Product(f32);

impl Eq for Product {}

impl PartialOrd for Product {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Product {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<'a> Best<'a> {
    pub(super) fn new(unit: &'a Unit, most: usize) -> Self {
        Self {
            unit,
            most,
            margin: 2.0 * slack(unit.components().len()),
            heap: BinaryHeap::new(),
            floor: f32::NEG_INFINITY,
            candidates: Vec::new(),
            exact: Vec::new(),
            looked_at: 0,
        }
    }

    /// Looks at the first vectors of a piece.
    pub(super) fn look_at(&mut self, chunk: &Arc<Chunk>, rows: usize) {
        for (row, components) in chunk.rows().take(rows).enumerate() {
            self.weigh(chunk, row, components);
        }
        self.looked_at += rows;
    }

    /// Looks at those of the first vectors of a piece whose discoveries count.
    pub(super) fn look_at_some(
        &mut self,
        chunk: &Arc<Chunk>,
        rows: usize,
        only: &HashSet<DiscoveryId>,
    ) {
        let vectors = chunk.rows().zip(&chunk.ids).take(rows).enumerate();
        for (row, (components, id)) in vectors {
            if only.contains(id) {
                self.weigh(chunk, row, components);
                self.looked_at += 1;
            }
        }
    }

    fn weigh(&mut self, chunk: &Arc<Chunk>, row: usize, components: &[f32]) {
        let product = quick(self.unit.components(), components);
        if product >= self.floor {
            self.keep(chunk, row, product);
        }
    }

    fn keep(&mut self, chunk: &Arc<Chunk>, row: usize, quick: f32) {
        self.candidates.push(Candidate {
            quick,
            chunk: Arc::clone(chunk),
            row,
        });
        self.heap.push(Reverse(Product(quick)));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
        if self.heap.len() == self.most
            && let Some(Reverse(least)) = self.heap.peek()
        {
            self.floor = least.0 - self.margin;
        }
        if self.candidates.len() >= 2 * (self.most + SPARE)
            && self.candidates.len().is_power_of_two()
        {
            self.drop_outdone();
        }
    }

    fn drop_outdone(&mut self) {
        let floor = self.floor;
        self.candidates.retain(|candidate| candidate.quick >= floor);
    }

    /// Adds what was compared exactly elsewhere.
    pub(super) fn add(&mut self, exact: Vec<(DiscoveryId, f64)>) {
        self.looked_at += exact.len();
        self.exact.extend(exact);
    }

    /// Compares the candidates exactly and returns the nearest.
    pub(super) fn finish(mut self) -> Nearest {
        self.drop_outdone();
        let mut hits = self.exact;
        for Candidate { chunk, row, .. } in &self.candidates {
            let found = chunk.ids.get(*row).zip(chunk.rows().nth(*row));
            let near = found.and_then(|(id, other)| Some((*id, self.unit.cosine(other)?)));
            hits.extend(near);
        }
        hits.sort_by(|(a, near_a), (b, near_b)| near_b.total_cmp(near_a).then(a.cmp(b)));
        hits.truncate(self.most);
        Nearest {
            hits,
            looked_at: self.looked_at,
        }
    }
}
