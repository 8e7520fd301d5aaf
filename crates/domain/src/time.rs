//! Times are integer microseconds inside and RFC 3339 on the wire.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A wall-clock time, for people and filters; nothing is ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A reading of the lease clock, the only clock that decides what has expired.
///
/// It starts at wall time when a database is made and never goes back (3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseTime(i64);

/// The word by which schemas mark a length of time.
pub const SPAN_FORMAT: &str = "span";

/// A length of time, never negative, written `"30m"` or `"1h30m"` in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Timestamp {
    /// Takes microseconds since 1970-01-01T00:00:00Z.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns microseconds since 1970-01-01T00:00:00Z.
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(|_| {
            de::Error::custom("must be an RFC 3339 time such as `2026-01-31T09:00:00Z`")
        })?;
        Ok(Self(time.as_microsecond()))
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl LeaseTime {
    /// Takes a reading in microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the reading in microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl Serialize for LeaseTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LeaseTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self)
    }
}

impl Span {
    /// Takes a number of microseconds; a negative one counts as none.
    pub const fn from_micros(micros: i64) -> Self {
        Self(if micros < 0 { 0 } else { micros })
    }

    /// Returns the length in microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}us", self.0))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const RULE: &str = "must be a length of time such as `90s`, `30m` or `1h30m`";
        let text = String::deserialize(deserializer)?;
        let days_of_24_hours = jiff::SpanRelativeTo::days_are_24_hours();
        let length = text
            .parse::<jiff::Span>()
            .and_then(|span| span.to_duration(days_of_24_hours))
            .map_err(|_| de::Error::custom(RULE))?;
        match i64::try_from(length.as_micros()) {
            Ok(micros) if micros >= 0 => Ok(Self(micros)),
            _ => Err(de::Error::custom(RULE)),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": SPAN_FORMAT, "examples": ["30m", "1h30m"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_on_the_wire_has_six_decimals() {
        let time = Timestamp::from_micros(1_792_080_000_000_001);
        let wire = serde_json::to_string(&time).unwrap();
        assert_eq!(wire, "\"2026-10-15T16:00:00.000001Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&wire).unwrap(), time);
    }

    #[test]
    fn a_span_is_read_as_people_write_it() {
        let span = |text: &str| serde_json::from_str::<Span>(&format!("\"{text}\""));
        assert_eq!(span("30m").unwrap().micros(), 1_800_000_000);
        assert_eq!(span("1h30m").unwrap().micros(), 5_400_000_000);
        assert_eq!(span("7d").unwrap().micros(), 7 * 24 * 3_600_000_000);
        assert_eq!(span("250us").unwrap().micros(), 250);
        for refused in ["", "30", "-5s", "soon", "1e999s", "1 month"] {
            assert!(span(refused).is_err(), "{refused}");
        }
        let wire = serde_json::to_string(&Span::from_micros(1_500)).unwrap();
        assert_eq!(serde_json::from_str::<Span>(&wire).unwrap().micros(), 1_500);
    }
}
