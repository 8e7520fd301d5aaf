//! Finds the nearest discovery by looking at each.

use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{DiscoveryId, ProjectId};

use super::table::embedding;
use crate::params;
use crate::store::StoreError;
use crate::tx::Read;

/// Returns the discovery of a source whose vector of a model is the nearest, and how near it is; of
/// equally near ones the first.
///
/// Settled ones count too: what somebody put aside yesterday need not be looked at again today.
pub(super) fn nearest(
    read: &mut impl Read,
    project: ProjectId,
    source: &str,
    model: &ModelId,
    vector: &Embedding,
) -> Result<Option<(DiscoveryId, f64)>, StoreError> {
    let unit = vector.unit();
    let mut nearest: Option<(DiscoveryId, f64)> = None;
    read.each(
        "select v.discovery_id, v.dimension, v.vector
         from discovery_vector v join discovery d on d.id = v.discovery_id
         where v.project_id = ?1 and v.model = ?2 and d.source = ?3
         order by v.discovery_id",
        params![project, model.as_str(), source],
        &mut |mut row| {
            let id = row.take()?;
            let other = embedding(&mut row)?.unit();
            if let Some(cosine) = unit.cosine(other.components())
                && nearest.is_none_or(|(_, best)| cosine > best)
            {
                nearest = Some((id, cosine));
            }
            Ok(())
        },
    )?;
    Ok(nearest)
}
