//! Which discoveries have no vector of a model yet.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::limits::EMBED_PAGE_BYTES_MAX;
use comity_domain::{DiscoveryId, ModelId, ProjectId};

use super::index;
use super::submit::{must_be_of_size, text_of};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::store::Row;
use crate::tx::{Read, Snapshot};

/// Asks for some discoveries behind a number without a vector of a model, the oldest first. What is
/// redacted has no text to make one of.
#[derive(Clone, Debug)]
pub(crate) struct Unembedded {
    pub(crate) model: ModelId,
    /// How many numbers a vector would have.
    pub(crate) dimension: i64,
    pub(crate) after: DiscoveryId,
    /// How many at most.
    pub(crate) most: i64,
}

/// A discovery without a vector.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) id: DiscoveryId,
    /// What it would be made of.
    pub(crate) text: String,
    /// Why none would be kept, if that is so: those of its project have another size.
    pub(crate) refusal: Option<String>,
}

impl Query for Unembedded {
    const NAME: &'static str = "unembedded_discoveries";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<Missing>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let mut found = snapshot.rows(
            "select d.project_id, d.id, d.title, d.summary from discovery d
             where d.id > ?2 and not exists (select 1 from discovery_vector v
                where v.discovery_id = d.id and v.model = ?1)
             and not exists (select 1 from redaction r
                where r.subject_type = 'discovery' and r.subject_id = d.id
                and r.kind = 'discovery_submitted')
             order by d.id limit ?3",
            params![self.model.as_str(), self.after, self.most],
            |row| {
                let (project, id): (ProjectId, DiscoveryId) = (row.take()?, row.take()?);
                let (title, summary): (String, String) = (row.take()?, row.take()?);
                Ok((project, id, text_of(&title, &summary)))
            },
        )?;
        let mut bytes = 0;
        let fit = found.iter().take_while(|(_, _, text)| {
            bytes += text.len();
            bytes <= EMBED_PAGE_BYTES_MAX
        });
        // One alone always goes, however long it is.
        let fit = fit.count().max(1);
        found.truncate(fit);
        let refusals = self.refusals(snapshot, found.iter().map(|(project, ..)| *project))?;
        let missing = found.into_iter().map(|(project, id, text)| Missing {
            id,
            text,
            refusal: refusals.get(&project).cloned(),
        });
        Ok(missing.collect())
    }
}

impl Unembedded {
    /// Returns the projects that take no vector of this size, and why.
    fn refusals(
        &self,
        snapshot: &mut Snapshot<'_>,
        projects: impl Iterator<Item = ProjectId>,
    ) -> Result<BTreeMap<ProjectId, String>, Error> {
        let mut refusals = BTreeMap::new();
        for project in projects.collect::<BTreeSet<_>>() {
            match must_be_of_size(snapshot, "vector", project, &self.model, self.dimension) {
                Ok(()) => {}
                Err(refusal @ Error::Invalid { .. }) => {
                    refusals.insert(project, refusal.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(refusals)
    }
}

/// Counts discoveries that have no vector of a model and could have one; what is redacted has none of
/// any.
#[derive(Clone, Debug)]
pub(crate) struct CountUnembedded {
    pub(crate) model: ModelId,
}

impl Query for CountUnembedded {
    const NAME: &'static str = "count_unembedded";
    const WHO: &'static [Party] = &[];
    type Answer = i64;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<i64, Error> {
        Ok(snapshot.one(
            "select (select count(*) from discovery)
                - (select count(*) from discovery_vector where model = ?1)
                - (select count(*) from redaction
                    where subject_type = 'discovery' and kind = 'discovery_submitted')",
            params![self.model.as_str()],
            Row::take,
        )?)
    }
}

/// Brings the vectors in memory closer to the table; answers whether some are missing yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warm;

impl Query for Warm {
    const NAME: &'static str = "warm_vectors";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        Ok(index::warm(snapshot)?)
    }
}
