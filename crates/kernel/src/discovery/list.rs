//! Lists discoveries.

use comity_domain::{DiscoveryOrder, DiscoveryState, DiscoveryTier, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Source;
use super::table::{self, Chosen, Discovery};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists discoveries with the beginnings of their summaries.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDiscoveries {
    /// The project's key or slug; an agent's own unless given, and everybody else's all.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<DiscoveryState>,
    /// Only those of this tier.
    #[serde(default)]
    pub tier: Option<DiscoveryTier>,
    /// Only those of this source.
    #[serde(default)]
    pub source: Option<Source>,
    /// Only those worth at least this.
    #[serde(default)]
    pub min_score: Option<Score>,
    /// `newest` first unless given; by `score` those that have none are left out.
    #[serde(default)]
    pub order: Option<DiscoveryOrder>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before, in the same order.
    #[serde(default)]
    pub after: Option<Behind>,
}

/// Where the page before ended: at a number, or at a score and a number.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct Behind {
    score: Option<f64>,
    id: i64,
}

impl Behind {
    /// Reads `7`, or `7.3fe0000000000000` with the bits of the score.
    fn parse(text: &str) -> Option<Self> {
        let (id, score) = match text.split_once('.') {
            None => (text, None),
            Some((id, bits)) => {
                let bits = u64::from_str_radix(bits, 16).ok()?;
                let score = Score::parse(f64::from_bits(bits)).ok()?;
                (id, Some(score.get()))
            }
        };
        let id = id.parse().ok().filter(|id| *id >= 0)?;
        Some(Self { score, id })
    }

    fn text(self) -> String {
        match self.score {
            None => self.id.to_string(),
            Some(score) => format!("{}.{:x}", self.id, score.to_bits()),
        }
    }
}

impl Serialize for Behind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Behind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?)
            .ok_or_else(|| de::Error::custom("must be the `next` of the page before"))
    }
}

impl Query for ListDiscoveries {
    const NAME: &'static str = "list_discoveries";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Discovery>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Discovery>, Error> {
        let project = match &self.project {
            None => actor.project(),
            named => Some(project_table::resolve(snapshot, actor, named.as_ref())?.id),
        };
        let chosen = Chosen {
            project,
            state: self.state,
            tier: self.tier,
            source: self.source.as_deref(),
            min_score: self.min_score,
        };
        let wanted = self.limit.and_one();
        let order = self.order.unwrap_or(DiscoveryOrder::Newest);
        let found = match (order, self.after) {
            (DiscoveryOrder::Newest, None) => table::newest(snapshot, &chosen, i64::MAX, wanted)?,
            (DiscoveryOrder::Newest, Some(Behind { score: None, id })) => {
                table::newest(snapshot, &chosen, id, wanted)?
            }
            (DiscoveryOrder::Score, None) => table::best(snapshot, &chosen, (2.0, 0), wanted)?,
            (
                DiscoveryOrder::Score,
                Some(Behind {
                    score: Some(score),
                    id,
                }),
            ) => table::best(snapshot, &chosen, (score, id), wanted)?,
            (_, Some(_)) => {
                let rule = "must be the `next` of a page in the same order";
                return Err(Error::invalid("after", rule));
            }
        };
        Ok(self.page(found, order))
    }
}

impl ListDiscoveries {
    fn page(&self, mut items: Vec<Discovery>, order: DiscoveryOrder) -> Page<Discovery> {
        let more = items.len() > self.limit.get();
        items.truncate(self.limit.get());
        let last = items.last().filter(|_| more).map(|last| Behind {
            score: last
                .score
                .filter(|_| order == DiscoveryOrder::Score)
                .map(Score::get),
            id: last.id.get(),
        });
        Page {
            items,
            next: last.map(Behind::text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_comes_back() {
        for behind in [
            Behind { score: None, id: 7 },
            Behind {
                score: Some(0.1),
                id: 12,
            },
        ] {
            assert_eq!(Behind::parse(&behind.text()), Some(behind));
        }
        for bad in [
            "",
            "-1",
            "7.",
            "7.x",
            "7.7ff8000000000000",
            "7.4000000000000000",
            "x",
        ] {
            assert_eq!(Behind::parse(bad), None, "{bad}");
        }
    }
}
