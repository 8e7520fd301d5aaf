//! Which discoveries have no vector of a model yet.

use comity_domain::limits::EMBED_PAGE_BYTES_MAX;
use comity_domain::{DiscoveryId, ModelId};

use super::index;
use super::submit::text_of;
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
    pub(crate) after: DiscoveryId,
    /// How many at most.
    pub(crate) most: i64,
}

impl Query for Unembedded {
    const NAME: &'static str = "unembedded_discoveries";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<(DiscoveryId, String)>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let mut texts = snapshot.rows(
            "select d.id, d.title, d.summary from discovery d
             where d.id > ?2 and not exists (select 1 from discovery_vector v
                where v.discovery_id = d.id and v.model = ?1)
             and not exists (select 1 from redaction r
                where r.subject_type = 'discovery' and r.subject_id = d.id
                and r.kind = 'discovery_submitted')
             order by d.id limit ?3",
            params![self.model.as_str(), self.after, self.most],
            |row| {
                let id: DiscoveryId = row.take()?;
                let (title, summary): (String, String) = (row.take()?, row.take()?);
                Ok((id, text_of(&title, &summary)))
            },
        )?;
        let mut bytes = 0;
        let fit = texts.iter().take_while(|(_, text)| {
            bytes += text.len();
            bytes <= EMBED_PAGE_BYTES_MAX
        });
        // One alone always goes, however long it is.
        let fit = fit.count().max(1);
        texts.truncate(fit);
        Ok(texts)
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
