//! Leases: how they are held, how long, and how they end.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::{TTL_US_MAX, TTL_US_MIN};
use crate::time::Span;
use crate::words::words;

words! {
    /// Who else may hold the same.
    LeaseMode {
        /// Nobody.
        Exclusive = "exclusive",
        /// Whoever shares it too.
        Shared = "shared",
    }
}

words! {
    /// How a lease ended.
    LeaseEnd {
        /// Its holder gave it back.
        Released = "released",
        /// Somebody took it from its holder.
        Forced = "forced",
        /// Its holder was retired.
        Retired = "retired",
        /// Its time was up.
        Expired = "expired",
    }
}

impl LeaseMode {
    /// Tells whether nobody else may hold the same.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }
}

/// How long a lease lasts: 1 s to 24 h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Ttl(Span);

impl Ttl {
    /// Checks a length of time.
    pub fn new(span: Span) -> Result<Self, &'static str> {
        if (TTL_US_MIN..=TTL_US_MAX).contains(&span.micros()) {
            return Ok(Self(span));
        }
        Err("must be between 1s and 24h")
    }

    /// Returns the length in microseconds.
    pub const fn micros(self) -> i64 {
        self.0.micros()
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Span::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// On the wire it is a [`Span`], and like every span it has a twin in seconds.
impl JsonSchema for Ttl {
    fn schema_name() -> Cow<'static, str> {
        "Ttl".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Span::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F8
    #[test]
    fn a_lease_lasts_from_a_second_to_a_day() {
        let ttl = |text: &str| serde_json::from_str::<Ttl>(&format!("\"{text}\""));
        assert_eq!(ttl("1s").unwrap().micros(), TTL_US_MIN);
        assert_eq!(ttl("24h").unwrap().micros(), TTL_US_MAX);
        for refused in ["0s", "999ms", "24h1us", "1y", "-1m", "NaN", ""] {
            assert!(ttl(refused).is_err(), "{refused}");
        }
    }
}
