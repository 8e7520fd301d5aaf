//! What a project is interested in, and how much a discovery is worth to it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::discovery::Score;
use crate::search::tokens;

/// How much being exactly on the topic counts.
const TOPIC_WEIGHT: f64 = 0.5;

/// A number from -1 to 1: how much something counts for or against a discovery.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Weight(f64);

/// No weight is a NaN.
impl Eq for Weight {}

impl Weight {
    /// Checks a number; the error is the rule it breaks.
    pub fn parse(number: f64) -> Result<Self, String> {
        if (-1.0..=1.0).contains(&number) {
            return Ok(Self(number + 0.0));
        }
        Err("must be a number from -1 to 1".to_owned())
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Weight {
    fn schema_name() -> Cow<'static, str> {
        "Weight".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": -1, "maximum": 1 })
    }
}

/// A weight for each of several words.
pub type Weights = BTreeMap<String, Weight>;

/// One addend of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Addend {
    /// What counts: a keyword, the source or the topic.
    pub what: String,
    /// How much it counts.
    pub weight: f64,
    /// How much of it there is: 1 for a keyword or a source, the cosine for the topic.
    pub value: f64,
    /// The product of the two.
    pub contribution: f64,
}

/// A score and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The sum, brought into 0 to 1.
    pub score: Score,
    /// The sum of the contributions in their order.
    pub sum: f64,
    /// What counted.
    pub addends: Vec<Addend>,
}

/// What of a discovery an interest profile looks at.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its summary.
    pub summary: &'a str,
    /// Where it comes from.
    pub source: &'a str,
    /// The cosine of its vector and the topic's, if both are there.
    pub topic: Option<f64>,
}

/// Adds up what a discovery is worth: keywords that it holds, its source, and how near it is to the
/// topic.
///
/// A keyword counts once, however often it occurs, if its words follow each other in the title or
/// in the summary; letters are compared as the search compares them.
pub fn explain(keywords: &Weights, sources: &Weights, looked: &Looked<'_>) -> Explained {
    let texts = [looked.title, looked.summary].map(|text| tokens(text).collect::<Vec<_>>());
    let mut addends = Vec::new();
    for (keyword, weight) in keywords {
        let wanted: Vec<_> = tokens(keyword).collect();
        if texts.iter().any(|text| holds(text, &wanted)) {
            addends.push(addend(format!("keyword `{keyword}`"), weight.get(), 1.0));
        }
    }
    if let Some(weight) = sources.get(looked.source) {
        let what = format!("source `{}`", looked.source);
        addends.push(addend(what, weight.get(), 1.0));
    }
    if let Some(cosine) = looked.topic {
        addends.push(addend("topic".to_owned(), TOPIC_WEIGHT, cosine));
    }
    // From the positive zero: an empty sum of floats is the negative one.
    let sum = addends
        .iter()
        .fold(0.0, |sum, addend| sum + addend.contribution);
    Explained {
        score: Score::nearest(sum),
        sum,
        addends,
    }
}

fn addend(what: String, weight: f64, value: f64) -> Addend {
    Addend {
        what,
        weight,
        value,
        contribution: weight * value,
    }
}

fn holds(text: &[String], wanted: &[String]) -> bool {
    !wanted.is_empty() && text.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights(pairs: &[(&str, f64)]) -> Weights {
        let one = |(word, weight): &(&str, f64)| ((*word).to_owned(), Weight(*weight));
        pairs.iter().map(one).collect()
    }

    #[test]
    fn what_counts_is_said() {
        let looked = Looked {
            title: "Faster ROW locks in SQLite",
            summary: "Write-ahead logging, again",
            source: "arxiv",
            topic: Some(0.5),
        };
        let keywords = weights(&[
            ("row locks", 0.25),
            ("write ahead", 0.25),
            ("locks row", 0.9),
            ("lock", 0.9),
            ("again", -0.5),
        ]);
        let explained = explain(
            &keywords,
            &weights(&[("arxiv", 0.25), ("blog", 1.0)]),
            &looked,
        );
        let said: Vec<_> = explained
            .addends
            .iter()
            .map(|one| (one.what.as_str(), one.contribution))
            .collect();
        let expected = [
            ("keyword `again`", -0.5),
            ("keyword `row locks`", 0.25),
            ("keyword `write ahead`", 0.25),
            ("source `arxiv`", 0.25),
            ("topic", 0.25),
        ];
        assert_eq!(said, expected);
        assert_eq!((explained.sum, explained.score.get()), (0.5, 0.5));
    }

    #[test]
    fn nothing_counts_for_nothing() {
        let looked = Looked {
            title: "x",
            summary: "",
            source: "s",
            topic: None,
        };
        let explained = explain(&weights(&[("++", 1.0)]), &Weights::new(), &looked);
        assert_eq!(explained.addends, []);
        assert!(explained.score.get().is_sign_positive());
        assert!(explained.score.get() == 0.0);
    }

    proptest! {
        #[test]
        fn the_contributions_add_up(
            pairs in prop::collection::btree_map("[a-d]{1,2}", -1.0..=1.0_f64, 0..8),
            title in "[a-d ]{0,20}",
            source in "[a-d]{1,2}",
            topic in prop::option::of(-1.0..=1.0_f64),
        ) {
            let weights: Weights =
                pairs.into_iter().map(|(word, weight)| (word, Weight(weight))).collect();
            let looked = Looked { title: &title, summary: &source, source: &source, topic };
            let explained = explain(&weights, &weights, &looked);
            let sum = explained.addends.iter().fold(0.0, |sum, one| sum + one.contribution);
            let same = |one: f64, other: f64| one.total_cmp(&other).is_eq();
            prop_assert!(same(sum + 0.0, explained.sum + 0.0));
            prop_assert!(same(explained.score.get() + 0.0, sum.clamp(0.0, 1.0) + 0.0));
            for one in &explained.addends {
                prop_assert!(same(one.contribution, one.weight * one.value));
            }
        }
    }
}
