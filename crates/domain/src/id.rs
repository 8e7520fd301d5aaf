//! Ids are short integers, one type per kind, so that one cannot be taken for another.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

macro_rules! id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(#[schemars(range(min = 1))] i64);

        impl $name {
            /// Takes a number that the database or a counter vouches for.
            pub const fn new(value: i64) -> Self {
                Self(value)
            }

            /// Returns the bare number, for SQL and the wire.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = i64::deserialize(deserializer)?;
                if value < 1 {
                    return Err(de::Error::custom("must be a positive whole number"));
                }
                Ok(Self(value))
            }
        }
    )+};
}

id! {
    /// A project's number.
    ProjectId,
    /// An agent's number.
    AgentId,
    /// A token's number: its public half.
    TokenId,
    /// A message's number; a thread has that of its first message.
    MessageId,
    /// A contact's number.
    ContactId,
    /// The number of a lease on files, or of a named lock.
    ReservationId,
    /// The number of a request that a lease be released.
    ReleaseRequestId,
    /// A sentinel's number.
    SentinelId,
    /// The number of a scope of state.
    StateScopeId,
    /// The number of something kept under a key.
    StateEntryId,
    /// A run's number.
    RunId,
    /// The number of something a run left behind.
    ArtifactId,
    /// A verdict's number.
    VerdictId,
    /// An approval's number.
    ApprovalId,
    /// A dispatch's number.
    DispatchId,
    /// A hook's number.
    HookId,
    /// A discovery's number.
    DiscoveryId,
    /// A stream's number.
    StreamId,
    /// A consumer's number.
    ConsumerId,
}

/// A place in the log: 1, 2, 3 … in commit order, 0 before the first event.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Seq(#[schemars(range(min = 0))] i64);

impl Seq {
    /// The place before the first event.
    pub const ZERO: Self = Self(0);

    /// Takes a number read from the log.
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// Returns the bare number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns the place after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_on_the_wire_are_positive_numbers() {
        assert_eq!(
            serde_json::from_str::<AgentId>("7").unwrap(),
            AgentId::new(7)
        );
        assert!(serde_json::from_str::<AgentId>("0").is_err());
        assert!(serde_json::from_str::<AgentId>("-7").is_err());
        assert!(serde_json::from_str::<AgentId>("\"7\"").is_err());
        assert_eq!(serde_json::to_string(&AgentId::new(7)).unwrap(), "7");
    }
}
