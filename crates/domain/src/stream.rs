//! Names that callers give to what is theirs in the log: streams, consumers, kinds of events.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::{CUSTOM_KIND_BYTES_MAX, PLAIN_NAME_BYTES_MAX};

/// How every kind of the callers' own begins.
const CUSTOM: &str = "custom.";

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:ident, $pattern:literal, $max:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks a name; the error is the rule it breaks.
            pub fn parse(name: impl Into<String>) -> Result<Self, String> {
                let name = name.into();
                if name.len() > $max {
                    return Err(format!("must be at most {} bytes", $max));
                }
                $check(&name)?;
                Ok(Self(name))
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "maxLength": $max })
            }
        }
    };
}

name! {
    /// The name of a stream or of a consumer: letters, digits, `-`, `_` and `.`, a letter or digit
    /// first.
    PlainName, check_plain, "^[A-Za-z0-9][A-Za-z0-9._-]*$", PLAIN_NAME_BYTES_MAX
}

name! {
    /// A kind of event of the callers' own: `custom.` and lower-case letters, digits, `-`, `_` and
    /// `.`, a letter or digit first.
    CustomKind, check_custom, "^custom\\.[a-z0-9][a-z0-9._-]*$", CUSTOM_KIND_BYTES_MAX
}

impl CustomKind {
    /// Tells whether a kind is meant to be one of the callers' own, well formed or not.
    pub fn is_meant(kind: &str) -> bool {
        kind.starts_with(CUSTOM)
    }
}

fn check_plain(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric();
    if name.starts_with(plain) && name.chars().all(|c| plain(c) || "-_.".contains(c)) {
        return Ok(());
    }
    Err("must be letters, digits, `-`, `_` or `.`, a letter or digit first".to_owned())
}

fn check_custom(kind: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let rest = kind.strip_prefix(CUSTOM).unwrap_or_default();
    if rest.starts_with(plain) && rest.chars().all(|c| plain(c) || "-_.".contains(c)) {
        return Ok(());
    }
    let rule = "must be `custom.` and lower-case letters, digits, `-`, `_` or `.`";
    Err(rule.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // S6 S12
    #[test]
    fn names_are_by_allow_list() {
        for good in ["a", "Deploys", "web-1.prod_2", "7"] {
            assert!(PlainName::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(PLAIN_NAME_BYTES_MAX + 1);
        for bad in [
            "",
            ".",
            "..",
            "-a",
            "_a",
            "a/b",
            "a b",
            "a\0",
            "a\n",
            "é",
            "a\u{202e}",
            &long,
        ] {
            assert!(PlainName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn kinds_of_callers_begin_with_custom() {
        for good in ["custom.a", "custom.deploy.done", "custom.1_x-y"] {
            assert!(CustomKind::parse(good).is_ok(), "{good}");
        }
        let long = format!("custom.{}", "x".repeat(CUSTOM_KIND_BYTES_MAX));
        for bad in [
            "",
            "custom",
            "custom.",
            "custom..",
            "custom.*",
            "Custom.a",
            "custom.A",
            "run_created",
            "custom.a b",
            "custom.a\0",
            "xcustom.a",
            &long,
        ] {
            assert!(CustomKind::parse(bad).is_err(), "{bad:?}");
        }
    }
}
