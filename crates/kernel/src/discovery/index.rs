//! The vectors of discoveries in memory, scaled to length one, so that a scan is quick (I9).
//!
//! A vector is written once and never changed, by an event of its own sequence number. So memory
//! only grows, in the order of the log, and whoever reads as of some number looks at the rows up
//! to it: an older snapshot at fewer of them. Memory is brought up to what the transaction at hand
//! sees as committed before it is used and never takes in rows of a running batch; those are read
//! from the table, and so is what memory has no room for.
//!
//! A redaction takes a vector away. Memory is then read anew by whoever sees the redaction committed;
//! whoever sees it in the running batch, or does not see it yet, looks at the table.

mod best;
mod block;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_domain::limits::{VECTOR_PAGE, VECTORS_BYTES_MAX};
use comity_domain::vector::{Embedding, ModelId, Unit};
use comity_domain::{DiscoveryId, ProjectId, Seq};

use self::best::Best;
use self::block::Block;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Vectors that may be compared and are looked for together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    project: ProjectId,
    source: String,
    model: String,
    dimension: usize,
}

/// All vectors of all discoveries.
#[derive(Clone)]
pub(crate) struct VectorIndex {
    state: Arc<Mutex<State>>,
    /// Nothing is taken in once there is so much.
    bytes_max: usize,
    /// How many vectors are read at a time.
    page: usize,
}

impl Default for VectorIndex {
    fn default() -> Self {
        Self::new(VECTORS_BYTES_MAX, VECTOR_PAGE)
    }
}

#[derive(Default)]
struct State {
    blocks: HashMap<Place, Block>,
    /// Up to where the log is taken in.
    through: Seq,
    /// What the vectors take up.
    bytes: usize,
    /// The last redaction that took a vector away, as far as is known here.
    dropped: Seq,
}

/// Which vectors are looked at.
#[derive(Clone, Debug)]
pub struct Among<'a> {
    /// Who made them.
    pub model: &'a ModelId,
    /// The project of their discoveries.
    pub project: Option<ProjectId>,
    /// The source of their discoveries.
    pub source: Option<&'a str>,
    /// Their discoveries, if not all.
    pub only: Option<&'a HashSet<DiscoveryId>>,
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The nearest discoveries and how near they are: the nearest first, of equals the oldest.
    pub hits: Vec<(DiscoveryId, f64)>,
    /// How many vectors were looked at.
    pub looked_at: usize,
}

/// Returns the discovery of a source that is nearest to a vector.
pub fn nearest(
    read: &mut impl Read,
    project: ProjectId,
    source: &str,
    model: &ModelId,
    vector: &Embedding,
) -> Result<Nearest, StoreError> {
    let among = Among {
        model,
        project: Some(project),
        source: Some(source),
        only: None,
    };
    top(read, &among, vector, 1)
}

/// Returns the `most` discoveries that are nearest to a vector.
pub fn top(
    read: &mut impl Read,
    among: &Among<'_>,
    vector: &Embedding,
    most: usize,
) -> Result<Nearest, StoreError> {
    let vectors = read.memory().vectors.clone();
    let dropped = last_dropped(read)?;
    vectors.catch_up(read, dropped)?;
    let unit = vector.unit();
    let mut best = Best::new(&unit, most);
    let (blocks, through) = vectors.matching(among, vector.dimension(), dropped, read.committed());
    for block in &blocks {
        block.each_chunk(through, |chunk, rows| match among.only {
            None => best.look_at(chunk, rows),
            Some(only) => best.look_at_some(chunk, rows, only),
        });
    }
    if through < read.head() {
        let rest = from_table(read, among, &unit, through)?;
        best.add(rest);
    }
    Ok(best.finish())
}

/// Reads some of what is committed and not in memory yet; tells whether more is missing.
pub(crate) fn warm(read: &mut impl Read) -> Result<bool, StoreError> {
    let vectors = read.memory().vectors.clone();
    let dropped = last_dropped(read)?;
    vectors.take_page(read, dropped)
}

/// Returns the last redaction that is seen here and may have taken a vector away.
fn last_dropped(read: &mut impl Read) -> Result<Seq, StoreError> {
    read.one(
        "select coalesce(max(redacted_seq), 0) from redaction where subject_type = 'discovery'
         and kind in ('discovery_submitted', 'discovery_embedded')",
        &[],
        Row::take,
    )
}

impl VectorIndex {
    pub(crate) fn new(bytes_max: usize, page: usize) -> Self {
        Self {
            state: Arc::default(),
            bytes_max,
            page,
        }
    }

    /// Takes in what was committed since the last time, as long as there is room.
    fn catch_up(&self, read: &mut impl Read, dropped: Seq) -> Result<(), StoreError> {
        while self.take_page(read, dropped)? {}
        Ok(())
    }

    /// Takes in a page of what was committed since the last time; tells whether more is missing.
    /// Nothing is read while others are kept out.
    fn take_page(&self, read: &mut impl Read, dropped: Seq) -> Result<bool, StoreError> {
        let committed = read.committed();
        if dropped > committed {
            // The running batch took one away: memory is not asked until that is committed.
            return Ok(false);
        }
        let (known, bytes, is_current) = {
            let mut state = self.lock();
            if state.dropped < dropped {
                *state = State {
                    dropped,
                    ..State::default()
                };
            }
            (state.through, state.bytes, state.dropped == dropped)
        };
        if !is_current || known >= committed || bytes >= self.bytes_max {
            return Ok(false);
        }
        let page = page_between(read, known, committed, self.page)?;
        let is_last = page.len() < self.page;
        let mut state = self.lock();
        if state.through != known || state.dropped != dropped {
            // Somebody else was faster.
            return Ok(true);
        }
        state.take_in(page);
        if is_last {
            state.through = committed;
        }
        Ok(!is_last)
    }

    /// Returns the blocks that are asked for, and up to where the log is in them for this reader.
    fn matching(
        &self,
        among: &Among<'_>,
        dimension: usize,
        dropped: Seq,
        committed: Seq,
    ) -> (Vec<Block>, Seq) {
        let state = self.lock();
        if state.dropped != dropped {
            return (Vec::new(), Seq::ZERO);
        }
        let through = state.through.min(committed);
        if let (Some(project), Some(source)) = (among.project, among.source) {
            let place = Place {
                project,
                source: source.to_owned(),
                model: among.model.to_string(),
                dimension,
            };
            let block = state.blocks.get(&place).cloned();
            return (block.into_iter().collect(), through);
        }
        let is_wanted = |place: &Place| {
            place.model == among.model.as_str()
                && place.dimension == dimension
                && among.project.is_none_or(|project| place.project == project)
                && among.source.is_none_or(|source| place.source == source)
        };
        let blocks = state.blocks.iter().filter(|(place, _)| is_wanted(place));
        (blocks.map(|(_, block)| block.clone()).collect(), through)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, rows: Vec<Stored>) {
        for Stored {
            place,
            id,
            unit,
            seq,
        } in rows
        {
            self.bytes += size_of_val(unit.components());
            self.through = seq;
            let block = self.blocks.entry(place).or_default();
            block.push(id, seq, unit.components());
        }
    }
}

/// A vector as it is stored, scaled.
struct Stored {
    place: Place,
    id: DiscoveryId,
    seq: Seq,
    unit: Unit,
}

/// Reads a page of vectors that were written in a part of the log, in its order.
fn page_between(
    read: &mut impl Read,
    since: Seq,
    committed: Seq,
    page: usize,
) -> Result<Vec<Stored>, StoreError> {
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    read.rows(
        "select v.discovery_id, v.dimension, v.vector, v.project_id, d.source, v.model, v.seq
         from discovery_vector v join discovery d on d.id = v.discovery_id
         where v.seq > ?1 and v.seq <= ?2 order by v.seq limit cast(?3 as bigint)",
        params![since, committed, page],
        |row| {
            let (id, unit) = scaled(row)?;
            let place = Place {
                project: row.take()?,
                source: row.take()?,
                model: row.take()?,
                dimension: unit.components().len(),
            };
            let seq = row.take()?;
            Ok(Stored {
                place,
                id,
                seq,
                unit,
            })
        },
    )
}

/// Compares what was written behind a number: rows of the running batch, and what memory has no
/// room for.
fn from_table(
    read: &mut impl Read,
    among: &Among<'_>,
    unit: &Unit,
    through: Seq,
) -> Result<Vec<(DiscoveryId, f64)>, StoreError> {
    let mut near = Vec::new();
    read.each(
        "select v.discovery_id, v.dimension, v.vector
         from discovery_vector v join discovery d on d.id = v.discovery_id
         where v.seq > ?1 and v.model = ?2
         and (cast(?3 as bigint) is null or v.project_id = ?3)
         and (cast(?4 as text) is null or d.source = ?4)",
        params![through, among.model.as_str(), among.project, among.source,],
        &mut |mut row| {
            let (id, other) = scaled(&mut row)?;
            let is_wanted = among.only.is_none_or(|only| only.contains(&id));
            let cosine = unit.cosine(other.components());
            near.extend(cosine.filter(|_| is_wanted).map(|cosine| (id, cosine)));
            Ok(())
        },
    )?;
    Ok(near)
}

fn scaled(row: &mut Row) -> Result<(DiscoveryId, Unit), StoreError> {
    let (id, dimension): (DiscoveryId, i64) = (row.take()?, row.take()?);
    let bytes: Vec<u8> = row.take()?;
    let dimension = usize::try_from(dimension).unwrap_or_default();
    let vector = Embedding::from_le_bytes(&bytes, dimension);
    let vector = vector.map_err(|_| StoreError::Shape("a vector"))?;
    Ok((id, vector.unit()))
}
