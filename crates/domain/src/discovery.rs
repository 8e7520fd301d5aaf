//! Discoveries: their states, what leads from one to another, and what a score is worth.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::words::words;

words! {
    /// Where a discovery stands. The last two are final.
    DiscoveryState {
        /// Nobody has scored it.
        New = "new",
        /// It has a score.
        Scored = "scored",
        /// It became work.
        Promoted = "promoted",
        /// Nobody wants it.
        Dismissed = "dismissed",
    }
}

words! {
    /// What a score is worth.
    DiscoveryTier {
        /// 0.8 and more.
        High = "high",
        /// 0.5 and more.
        Medium = "medium",
        /// 0.3 and more.
        Low = "low",
        /// Less than that.
        Discard = "discard",
    }
}

words! {
    /// What somebody thinks of a discovery.
    Signal {
        /// It helped.
        Useful = "useful",
        /// It did not help.
        NotUseful = "not_useful",
        /// It was known before.
        Known = "known",
        /// It is not so.
        Wrong = "wrong",
    }
}

words! {
    /// The order of a list of discoveries.
    DiscoveryOrder {
        /// The newest first.
        Newest = "newest",
        /// The best first.
        Score = "score",
    }
}

/// What can be done to a discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryStep {
    /// It gets a score, the first or another.
    Score,
    /// Its score loses of its value by age.
    Decay,
    /// It becomes work.
    Promote,
    /// It is put aside.
    Dismiss,
}

impl DiscoveryState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::New, Self::Scored, Self::Promoted, Self::Dismissed];

    /// Returns the state after a step, if the step can be taken (J9).
    pub const fn after(self, step: DiscoveryStep) -> Option<Self> {
        match (self, step) {
            (Self::New | Self::Scored, DiscoveryStep::Score)
            | (Self::Scored, DiscoveryStep::Decay) => Some(Self::Scored),
            (Self::New | Self::Scored, DiscoveryStep::Promote) => Some(Self::Promoted),
            (Self::New | Self::Scored, DiscoveryStep::Dismiss) => Some(Self::Dismissed),
            (Self::New, DiscoveryStep::Decay) | (Self::Promoted | Self::Dismissed, _) => None,
        }
    }

    /// Tells whether nothing can happen to it any more.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Promoted | Self::Dismissed)
    }
}

/// A number from 0 to 1: how much a discovery is worth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Score(f64);

/// No score is a NaN.
impl Eq for Score {}

impl Score {
    /// What a discovery must have to be promoted, when nobody says.
    pub const THRESHOLD: Self = Self(0.5);

    /// Checks a number; the error is the rule it breaks.
    pub fn parse(number: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&number) {
            // The negative zero has the bits of another number, and no engine keeps it.
            return Ok(Self(number + 0.0));
        }
        Err("must be a number from 0 to 1".to_owned())
    }

    /// Returns the nearest score to a sum, which may be anything but NaN.
    pub fn nearest(sum: f64) -> Self {
        Self(sum.clamp(0.0, 1.0) + 0.0)
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns what it is worth (J4). The database computes the same.
    pub fn tier(self) -> DiscoveryTier {
        match self.0 {
            0.8.. => DiscoveryTier::High,
            0.5.. => DiscoveryTier::Medium,
            0.3.. => DiscoveryTier::Low,
            _ => DiscoveryTier::Discard,
        }
    }

    /// Returns what is left of it after it lost a part of its value (J5).
    #[must_use]
    pub fn decayed(self, rate: Self) -> Self {
        Self::nearest(self.0 * (1.0 - rate.0))
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Score {
    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DiscoveryState::{Dismissed, New, Promoted, Scored};
    use proptest::prelude::*;

    const STEPS: [DiscoveryStep; 4] = [
        DiscoveryStep::Score,
        DiscoveryStep::Decay,
        DiscoveryStep::Promote,
        DiscoveryStep::Dismiss,
    ];

    // J9
    #[test]
    fn only_these_edges_exist() {
        let mut edges = Vec::new();
        for from in DiscoveryState::ALL {
            let reached = STEPS.iter().filter_map(|step| from.after(*step));
            edges.extend(reached.filter(|to| *to != from).map(|to| (from, to)));
        }
        let expected = [
            (New, Scored),
            (New, Promoted),
            (New, Dismissed),
            (Scored, Promoted),
            (Scored, Dismissed),
        ];
        assert_eq!(edges, expected);
    }

    // J9
    #[test]
    fn what_is_settled_stays() {
        for state in DiscoveryState::ALL {
            let stays = STEPS.iter().all(|step| state.after(*step).is_none());
            assert_eq!(stays, state.is_settled(), "{state:?}");
        }
    }

    // J4
    #[test]
    fn a_tier_begins_at_its_number() {
        for (least, tier, below) in [
            (0.8_f64, DiscoveryTier::High, DiscoveryTier::Medium),
            (0.5, DiscoveryTier::Medium, DiscoveryTier::Low),
            (0.3, DiscoveryTier::Low, DiscoveryTier::Discard),
        ] {
            assert_eq!(Score(least).tier(), tier);
            assert_eq!(Score(least.next_up()).tier(), tier);
            assert_eq!(Score(least.next_down()).tier(), below);
        }
    }

    #[test]
    fn a_score_is_from_nothing_to_one() {
        for good in ["0", "0.0", "-0.0", "1", "1.0", "0.5", "5e-324"] {
            let score: Score = serde_json::from_str(good).unwrap();
            assert!(score.get().is_sign_positive(), "{good}");
        }
        for bad in ["-0.1", "1.0000000000000002", "1e999", "null", "\"1\""] {
            assert!(serde_json::from_str::<Score>(bad).is_err(), "{bad}");
        }
        assert!(Score::parse(f64::NAN).is_err());
        assert!(Score::parse(f64::INFINITY).is_err());
    }

    proptest! {
        // J5
        #[test]
        fn what_decays_is_a_score_and_not_more(score in 0.0..=1.0_f64, rate in 0.0..=1.0_f64) {
            let (before, rate) = (Score::parse(score).unwrap(), Score::parse(rate).unwrap());
            let after = before.decayed(rate);
            prop_assert!(after <= before);
            prop_assert_eq!(Score::parse(after.get()).unwrap(), after);
        }

        #[test]
        fn a_score_comes_back_from_the_wire(score in 0.0..=1.0_f64) {
            let score = Score::parse(score).unwrap();
            let text = serde_json::to_string(&score).unwrap();
            prop_assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
        }
    }
}
