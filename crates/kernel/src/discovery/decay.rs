//! Lets scores lose of their value by age.

use comity_domain::limits::{DECAY_US_MAX, DISCOVERIES_PER_CALL_MAX};
use comity_domain::{DiscoveryId, DiscoveryTier, LeaseTime, Score, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DiscoveryDecayed;
use super::table;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::tx::{Read, WriteTx};

/// Takes a part of the score of every discovery that is old enough and not settled, at most once
/// per discovery and period; of very many, `more` says to call again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decay {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// What part of the score is taken, above 0 and up to 1.
    pub rate: Score,
    /// How old a discovery must be.
    pub min_age: Span,
    /// How long a period is, at least 1 s; periods follow each other since 1970.
    pub period: Span,
}

/// What decayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decayed {
    /// Every discovery that decayed now, by number, with what is left.
    pub decayed: Vec<Left>,
    /// Whether there are more: call again.
    pub more: bool,
}

/// What is left of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// What it is worth now.
    pub score: Score,
    /// What that comes to.
    pub tier: DiscoveryTier,
}

impl Command for Decay {
    const NAME: &'static str = "decay";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = Decayed;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Decayed, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?.id;
        let now = tx.now().lease;
        let (old, begun) = self.bounds(now)?;
        let mut aged = table::aged(tx, project, old, begun, DISCOVERIES_PER_CALL_MAX + 1)?;
        let limit = usize::try_from(DISCOVERIES_PER_CALL_MAX).unwrap_or(usize::MAX);
        let more = aged.len() > limit;
        aged.truncate(limit);
        let mut decayed = Vec::with_capacity(aged.len());
        for one in aged {
            // Computed here and nowhere else: the engines only keep the number.
            let score = one.score.decayed(self.rate);
            tx.emit(DiscoveryDecayed {
                which: one.which,
                rate: self.rate,
                score,
                decayed: now,
            })?;
            decayed.push(Left {
                id: one.which.id,
                score,
                tier: score.tier(),
            });
        }
        Ok(Decayed { decayed, more })
    }
}

impl Decay {
    /// Returns until when a discovery must have been submitted, and when the period began.
    fn bounds(&self, now: LeaseTime) -> Result<(LeaseTime, LeaseTime), Error> {
        if self.rate.get() <= 0.0 {
            return Err(Error::invalid("rate", "must be more than 0"));
        }
        let (min_age_us, period_us) = (self.min_age.micros(), self.period.micros());
        if min_age_us > DECAY_US_MAX {
            return Err(Error::invalid("min_age", "must be at most 3650d"));
        }
        if !(1_000_000..=DECAY_US_MAX).contains(&period_us) {
            return Err(Error::invalid("period", "must be between 1s and 3650d"));
        }
        let begun = now.micros() - now.micros().rem_euclid(period_us);
        Ok((
            LeaseTime::from_micros(now.micros() - min_age_us),
            LeaseTime::from_micros(begun),
        ))
    }
}
