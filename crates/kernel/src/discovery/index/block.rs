//! Vectors one after the other, in pieces that readers share with whoever appends.

use std::sync::Arc;

use comity_domain::{DiscoveryId, Seq};

/// Vectors of one piece: what is copied at most when somebody appends while others read.
const CHUNK_ROWS: usize = 512;

/// Vectors of one dimension, in the order of the log.
#[derive(Clone, Default)]
pub(super) struct Block {
    chunks: Vec<Arc<Chunk>>,
}

/// Some vectors of a block.
#[derive(Clone, Default)]
pub(super) struct Chunk {
    /// Whose each vector is.
    pub(super) ids: Vec<DiscoveryId>,
    /// The event that brought it.
    seqs: Vec<Seq>,
    /// All components.
    components: Vec<f32>,
}

impl Block {
    /// Appends a vector.
    pub(super) fn push(&mut self, id: DiscoveryId, seq: Seq, components: &[f32]) {
        match self.chunks.last_mut() {
            Some(last) if last.ids.len() < CHUNK_ROWS => {
                Arc::make_mut(last).push(id, seq, components);
            }
            _ => {
                let mut chunk = Chunk::default();
                chunk.push(id, seq, components);
                self.chunks.push(Arc::new(chunk));
            }
        }
    }

    /// Hands over the pieces, and how many of their vectors were there at a number.
    pub(super) fn each_chunk(&self, through: Seq, mut visit: impl FnMut(&Arc<Chunk>, usize)) {
        for chunk in &self.chunks {
            let rows = chunk.seqs.partition_point(|seq| *seq <= through);
            if rows == 0 {
                break;
            }
            visit(chunk, rows);
        }
    }
}

impl Chunk {
    fn push(&mut self, id: DiscoveryId, seq: Seq, components: &[f32]) {
        self.ids.push(id);
        self.seqs.push(seq);
        self.components.extend_from_slice(components);
    }

    /// Returns the vectors one by one.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        // A vector has at least one component.
        let dimension = (self.components.len() / self.ids.len().max(1)).max(1);
        self.components.chunks_exact(dimension)
    }
}
