//! Discoveries and interest profiles: from event to rows.
//!
//! None of these events belongs to a run, whatever the discovery's number is (I4).

use comity_domain::vector::Embedding;
use comity_domain::{DiscoveryId, ProjectId};

use super::event::{
    DiscoveryDecayed, DiscoveryDismissed, DiscoveryEmbedded, DiscoveryPromoted, DiscoveryScored,
    DiscoverySubmitted, Embedded, FeedbackGiven, InterestProfileUpdated, Which,
};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Key, Redacted, Spot, blank, blank_option};
use crate::store::{Rows, StoreError};

const fn subject(id: DiscoveryId) -> Subject {
    Subject {
        kind: SubjectKind::Discovery,
        id: id.get(),
    }
}

/// Says what an event is about.
macro_rules! of_discovery {
    () => {
        fn subject(&self) -> Subject {
            subject(self.which.id)
        }

        fn project(&self) -> Option<ProjectId> {
            Some(self.which.project)
        }
    };
}

fn keep_vector(
    tables: &mut Tables<'_>,
    place: Place,
    which: Which,
    embedded: &Embedded,
) -> Result<(), StoreError> {
    tables.write(
        "insert into discovery_vector (discovery_id, project_id, model, dimension, vector, seq)
         values (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            which.id,
            which.project,
            embedded.model.as_str(),
            embedded.dimension,
            embedded.vector.to_le_bytes().as_slice(),
            place.seq,
        ],
        Rows::Exactly(1),
    )
}

/// Counts an event that changes nothing else of the discovery.
fn count(tables: &mut Tables<'_>, id: DiscoveryId) -> Result<(), StoreError> {
    tables.write(
        "update discovery set revision = revision + 1 where id = ?1",
        params![id],
        Rows::Exactly(1),
    )
}

impl Apply for DiscoverySubmitted {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let state = self.score.map_or("new", |_| "scored");
        tables.write(
            "insert into discovery (id, project_id, source, source_id, title, summary, url, score,
                state, reason, agent_id, discovered_at, discovered_lease_us, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '', ?10, ?11, ?12, 1)",
            params![
                self.id,
                self.project,
                &self.source,
                &self.source_id,
                &self.title,
                &self.summary,
                self.url.as_deref(),
                self.score.map(comity_domain::Score::get),
                state,
                self.agent,
                place.at,
                self.discovered,
            ],
            Rows::Exactly(1),
        )?;
        let which = Which {
            id: self.id,
            project: self.project,
        };
        match &self.embedding {
            Some(embedded) => keep_vector(tables, place, which, embedded),
            None => Ok(()),
        }
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            title: blank(&self.title),
            summary: blank(&self.summary),
            url: blank_option(self.url.as_ref()),
            embedding: None,
            ..self.clone()
        };
        let url = self.url.as_deref().unwrap_or_default();
        let model = self.embedding.as_ref().map(|one| one.model.as_str());
        let redacted = Redacted::to(remnant)
            .from(Spot::DiscoveryTitle, self.id, &self.title)
            .from(Spot::DiscoverySummary, self.id, &self.summary)
            .from(Spot::DiscoveryUrl, self.id, url)
            .from(Spot::DiscoveryVector, Key::Event, model.unwrap_or_default());
        Some(redacted)
    }
}

impl Apply for DiscoveryEmbedded {
    of_discovery!();

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        keep_vector(tables, place, self.which, &self.embedding)?;
        count(tables, self.which.id)
    }

    /// A vector reveals what was said: what is left of it points nowhere in particular.
    fn redacted(&self) -> Option<Redacted> {
        let model = self.embedding.model.as_str();
        let remnant = Self {
            embedding: self.embedding.redacted()?,
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::DiscoveryVector, Key::Event, model))
    }
}

impl Apply for DiscoveryScored {
    of_discovery!();

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update discovery set score = ?2, state = 'scored', revision = revision + 1
             where id = ?1 and state in ('new', 'scored')",
            params![self.which.id, self.score.get()],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for DiscoveryDecayed {
    of_discovery!();

    /// Takes the number from the event: it was computed once, and is the same on both engines.
    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update discovery set score = ?2, decayed_lease_us = ?3, revision = revision + 1
             where id = ?1 and state = 'scored' and score >= ?2",
            params![self.which.id, self.score.get(), self.decayed],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for DiscoveryPromoted {
    of_discovery!();

    /// The row itself must still be open, and good enough unless it was forced (J7).
    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let (id, reference) = (self.which.id, &self.reference);
        match self.threshold {
            Some(threshold) => tables.write(
                "update discovery set state = 'promoted', ref = ?2, settled_at = ?3,
                    revision = revision + 1
                 where id = ?1 and state = 'scored' and score >= ?4",
                params![id, reference, place.at, threshold.get()],
                Rows::Exactly(1),
            ),
            None => tables.write(
                "update discovery set state = 'promoted', ref = ?2, settled_at = ?3,
                    revision = revision + 1
                 where id = ?1 and state in ('new', 'scored')",
                params![id, reference, place.at],
                Rows::Exactly(1),
            ),
        }
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reference: blank(&self.reference),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::DiscoveryRef, self.which.id, &self.reference))
    }
}

impl Apply for DiscoveryDismissed {
    of_discovery!();

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update discovery set state = 'dismissed', reason = ?2, settled_at = ?3,
                revision = revision + 1
             where id = ?1 and state in ('new', 'scored')",
            params![self.which.id, &self.reason, place.at],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::DiscoveryReason, self.which.id, &self.reason))
    }
}

impl Apply for FeedbackGiven {
    of_discovery!();

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into discovery_feedback (discovery_id, seq, signal, note, agent_id, created_at)
             values (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.which.id,
                place.seq,
                self.signal.as_str(),
                &self.note,
                self.agent,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        count(tables, self.which.id)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            note: blank(&self.note),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::FeedbackNote, Key::Event, &self.note))
    }
}

impl Apply for InterestProfileUpdated {
    fn subject(&self) -> Subject {
        Subject {
            kind: SubjectKind::InterestProfile,
            id: self.project.get(),
        }
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let keywords = weights(&self.keyword_weights)?;
        let sources = weights(&self.source_weights)?;
        let topic = self.topic.as_ref();
        let vector = topic.map(|topic| topic.vector.to_le_bytes());
        tables.write(
            "insert into interest_profile (id, keyword_weights, source_weights, topic_model,
                topic_dimension, topic_vector, updated_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)
             on conflict (id) do update set keyword_weights = excluded.keyword_weights,
                source_weights = excluded.source_weights, topic_model = excluded.topic_model,
                topic_dimension = excluded.topic_dimension,
                topic_vector = excluded.topic_vector, updated_at = excluded.updated_at,
                revision = interest_profile.revision + 1",
            params![
                self.project,
                &keywords,
                &sources,
                topic.map(|topic| topic.model.as_str()),
                topic.map(|topic| topic.dimension),
                vector.as_deref(),
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

fn weights(weights: &comity_domain::Weights) -> Result<String, StoreError> {
    serde_json::to_string(weights).map_err(|_| StoreError::Shape("weights"))
}

impl Embedded {
    /// Returns a vector of the same kind that says nothing.
    fn redacted(&self) -> Option<Self> {
        let mut components = vec![0.0; self.vector.dimension()];
        *components.first_mut()? = 1.0;
        Some(Self {
            vector: Embedding::new(components).ok()?,
            ..self.clone()
        })
    }
}
