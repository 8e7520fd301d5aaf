//! Runs: their phases, their states, and the judgements passed on them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::{PHASE_BYTES_MAX, PHASES_MAX};
use crate::words::words;

words! {
    /// Where a run stands.
    RunState {
        /// It goes on.
        Active = "active",
        /// It rests: nothing of it is handed out, and it moves no further.
        Paused = "paused",
        /// It reached its last phase.
        Completed = "completed",
        /// Somebody gave it up.
        Cancelled = "cancelled",
        /// It came to nothing.
        Failed = "failed",
    }
}

words! {
    /// What somebody thinks of the work of a phase.
    Verdict {
        /// It is good.
        Pass = "pass",
        /// It is good enough.
        Warn = "warn",
        /// It is not good enough.
        Fail = "fail",
        /// It cannot be judged; this counts as no verdict.
        Reject = "reject",
    }
}

impl RunState {
    /// Tells whether the run still takes part: it goes on, or rests.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Active | Self::Paused)
    }
}

/// The name of a phase: lower-case letters, digits, `-`, `_` and `.`, a letter or digit first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Phase(String);

impl Phase {
    /// Checks a name; the error is the rule it breaks.
    pub fn parse(name: impl Into<String>) -> Result<Self, String> {
        let name = name.into();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.len() > PHASE_BYTES_MAX {
            return Err(format!("must be at most {PHASE_BYTES_MAX} bytes"));
        }
        if !name.starts_with(plain) || !name.chars().all(|c| plain(c) || "-_.".contains(c)) {
            return Err(
                "must be lower-case letters, digits, `-`, `_` or `.`, a letter or digit first"
                    .to_owned(),
            );
        }
        Ok(Self(name))
    }
}

impl Deref for Phase {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Phase {
    fn schema_name() -> Cow<'static, str> {
        "Phase".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9._-]*$",
            "maxLength": PHASE_BYTES_MAX
        })
    }
}

/// The phases of a run in their order: at least two, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Chain(Vec<Phase>);

impl Chain {
    /// Checks a list of phases; the error is the rule it breaks.
    pub fn new(phases: Vec<Phase>) -> Result<Self, String> {
        if !(2..=PHASES_MAX).contains(&phases.len()) {
            return Err(format!(
                "must hold 2 to {PHASES_MAX} phases, not {}",
                phases.len()
            ));
        }
        for (place, phase) in phases.iter().enumerate() {
            if phases.iter().take(place).any(|before| before == phase) {
                return Err(format!(
                    "must hold each phase once; `{phase}` is there twice"
                ));
            }
        }
        Ok(Self(phases))
    }

    /// Returns the chain of a run that names none: from an idea to something done and learned.
    pub fn standard() -> Self {
        let names = [
            "brainstorm",
            "brainstorm-reviewed",
            "strategized",
            "planned",
            "executing",
            "review",
            "polish",
            "reflect",
            "done",
        ];
        Self(names.map(|name| Phase(name.to_owned())).to_vec())
    }

    /// Returns the phases in their order.
    pub fn phases(&self) -> &[Phase] {
        &self.0
    }

    /// Returns where a phase stands.
    pub fn position(&self, phase: &str) -> Option<usize> {
        self.0.iter().position(|one| **one == *phase)
    }

    /// Returns the phase at a place.
    pub fn at(&self, position: usize) -> Option<&Phase> {
        self.0.get(position)
    }

    /// Returns the place of the last phase.
    pub fn last(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Returns the next place after this one that is not skipped; the last phase cannot be.
    pub fn next(&self, position: usize, is_skipped: impl Fn(&Phase) -> bool) -> Option<usize> {
        let ahead = self.0.iter().enumerate().skip(position + 1);
        let mut open = ahead.filter(|(at, phase)| *at == self.last() || !is_skipped(phase));
        open.next().map(|(at, _)| at)
    }
}

impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Chain {
    fn schema_name() -> Cow<'static, str> {
        "Chain".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": Phase::json_schema(generator),
            "minItems": 2,
            "maxItems": PHASES_MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &[&str]) -> Result<Chain, String> {
        Chain::new(
            names
                .iter()
                .map(|name| Phase::parse(*name).unwrap())
                .collect(),
        )
    }

    #[test]
    fn a_phase_is_a_plain_word() {
        for good in ["a", "brainstorm-reviewed", "2nd", "v1.2_x"] {
            assert!(Phase::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(PHASE_BYTES_MAX + 1);
        for bad in ["", "-a", "A", "a>b", "a b", "a/b", "é", "a\0", &long] {
            assert!(Phase::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_chain_has_two_phases_at_least_and_each_once() {
        assert!(chain(&["a", "b"]).is_ok());
        assert!(chain(&[]).is_err());
        assert!(chain(&["a"]).is_err());
        assert!(chain(&["a", "b", "a"]).unwrap_err().contains("`a`"));
        let many: Vec<_> = (0..=PHASES_MAX).map(|n| format!("p{n}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(chain(&many).is_err());
        assert!(chain(&many[..PHASES_MAX]).is_ok());
        assert_eq!(
            Chain::new(Chain::standard().0.clone()),
            Ok(Chain::standard())
        );
    }

    #[test]
    fn the_next_phase_is_the_first_that_is_not_skipped() {
        let chain = chain(&["a", "b", "c"]).unwrap();
        assert_eq!(chain.next(0, |_| false), Some(1));
        assert_eq!(chain.next(0, |phase| **phase == *"b"), Some(2));
        assert_eq!(
            chain.next(0, |_| true),
            Some(2),
            "the last cannot be skipped"
        );
        assert_eq!(chain.next(2, |_| false), None);
    }
}
