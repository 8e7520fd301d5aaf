//! Agent names: chosen by the caller or made from two words, unique without regard to case.

use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::AGENT_NAME_CHARS_MAX;

/// An agent's name as its owner spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct AgentName(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))] String);

/// Names that mean an actor which is not an agent.
const RESERVED: [&str; 3] = ["operator", "observer", "system"];

impl AgentName {
    /// Checks a name; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let well_formed = text.len() <= AGENT_NAME_CHARS_MAX
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(allowed)
            && text.contains(|c: char| c.is_ascii_alphabetic());
        if !well_formed {
            return Err(format!(
                "must be 1 to {AGENT_NAME_CHARS_MAX} characters of A-Z, a-z, 0-9, `.`, `_`, `-`, \
                 begin with a letter or digit and hold a letter"
            ));
        }
        let name = Self(text.to_owned());
        if RESERVED.contains(&name.folded().as_str()) {
            return Err(format!("`{text}` is reserved"));
        }
        Ok(name)
    }

    /// Returns the form by which names are compared: the one canonicalisation (E1).
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Makes a readable name from random bits, such as `amber-otter`.
    pub fn from_random(bits: u64) -> Self {
        let pick = |words: &[&'static str], bits: u64| {
            let at = usize::try_from(bits % words.len() as u64).unwrap_or_default();
            words.get(at).copied().unwrap_or("agent")
        };
        let (first, second) = (pick(&FIRST, bits & 0xffff_ffff), pick(&SECOND, bits >> 32));
        Self(format!("{first}-{second}"))
    }

    /// Returns the `n`-th choice when the name itself is taken: `amber-otter-2` …
    #[must_use]
    pub fn numbered(&self, n: usize) -> Self {
        Self(format!("{}-{n}", self.0))
    }
}

impl Deref for AgentName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

const FIRST: [&str; 48] = [
    "amber", "ashen", "autumn", "azure", "bold", "brave", "bright", "brisk", "bronze", "calm",
    "cedar", "clear", "coral", "crimson", "dapper", "eager", "early", "fleet", "gentle", "golden",
    "hazel", "indigo", "ivory", "jade", "keen", "kind", "lively", "lunar", "maple", "mellow",
    "misty", "noble", "olive", "patient", "plucky", "quiet", "rapid", "ruby", "rustic", "sandy",
    "silver", "solar", "steady", "sunny", "swift", "tidy", "vivid", "witty",
];

const SECOND: [&str; 48] = [
    "badger", "beaver", "bison", "bobcat", "condor", "crane", "curlew", "dolphin", "eagle",
    "falcon", "ferret", "finch", "fox", "gecko", "gibbon", "hare", "hawk", "heron", "ibex", "ibis",
    "jackal", "jay", "kestrel", "kiwi", "lark", "lemur", "lynx", "magpie", "marten", "mole",
    "newt", "ocelot", "orca", "osprey", "otter", "owl", "panda", "plover", "puffin", "quail",
    "raven", "robin", "seal", "sparrow", "stoat", "swallow", "tern", "wren",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_rule_for_names() {
        for good in ["Blue", "a", "7up", "a.b_c-d", &"x".repeat(64)] {
            assert!(AgentName::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in [
            "",
            "7",
            "-a",
            ".a",
            "a b",
            "a/b",
            "a\0",
            "a\n",
            "Bl\u{fc}e",
            "\u{412}lue",
            "Operator",
            "SYSTEM",
            "observer",
            "..",
            long.as_str(),
        ] {
            assert!(AgentName::parse(bad).is_err(), "{bad:?}"); // E1, look-alikes included
        }
    }

    proptest! {
        #[test]
        fn every_made_up_name_is_a_valid_name(bits in any::<u64>()) {
            let name = AgentName::from_random(bits);
            prop_assert!(AgentName::parse(&name).is_ok());
            prop_assert!(AgentName::parse(&name.numbered(17)).is_ok());
        }

        #[test]
        fn names_that_differ_only_in_case_fold_to_one(text in "[A-Za-z][A-Za-z0-9._-]{0,20}") {
            let folded = |text: &str| AgentName::parse(text).map(|name| name.folded()).ok();
            prop_assert_eq!(folded(&text), folded(&text.to_ascii_uppercase())); // E1
        }
    }
}
