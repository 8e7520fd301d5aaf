//! Projects: the caller's key, the slug derived from it, and the words of its settings.

use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::{PROJECT_KEY_BYTES_MAX, SLUG_BYTES_MAX};
use crate::text::Line;
use crate::words::words;

/// What a caller calls a project, usually a directory; equal keys are one project, others never.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ProjectKey(#[schemars(length(min = 1, max = PROJECT_KEY_BYTES_MAX))] String);

/// A project's short name in paths and URLs: `[a-z0-9-]`, unique, stable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Slug(String);

impl ProjectKey {
    /// Checks a key; the error is the rule it breaks.
    ///
    /// Two spellings of one directory would be two projects, so the spellings that need
    /// resolving are refused; the command line resolves them before it asks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = Line::<PROJECT_KEY_BYTES_MAX>::parse(text)?.into_string();
        if text.trim() != text {
            return Err("must not begin or end with white space".to_owned());
        }
        let unresolved = |(at, segment): (usize, &str)| match segment {
            "" => at > 0 && text != "/",
            "." | ".." => true,
            _ => false,
        };
        if text.split('/').enumerate().any(unresolved) {
            return Err(
                "must be resolved: no `.`, `..` or empty segments, no `/` at the end".to_owned(),
            );
        }
        Ok(Self(text))
    }

    /// Returns the slug this key asks for, before it is made unique.
    pub fn slug(&self) -> Slug {
        let last = self.0.rsplit('/').find(|part| !part.is_empty());
        let mut slug = String::new();
        for c in last.unwrap_or_default().chars() {
            match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9') => slug.push(c),
                _ if slug.ends_with('-') || slug.is_empty() => {}
                _ => slug.push('-'),
            }
            if slug.len() == SLUG_BYTES_MAX {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        Slug(if slug.is_empty() { "project" } else { slug }.to_owned())
    }
}

impl Slug {
    /// Takes a slug that the database holds.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the `n`-th choice when the slug itself is taken: `app-2`, `app-3` …
    #[must_use]
    pub fn numbered(&self, n: usize) -> Self {
        Self(format!("{}-{n}", self.0))
    }
}

macro_rules! as_text {
    ($($name:ident),+) => {$(
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
    )+};
}

as_text!(ProjectKey, Slug);

impl<'de> Deserialize<'de> for ProjectKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

words! {
    /// What the Git guard does about a conflict.
    GuardMode {
        /// Refuses the commit or push.
        Block = "block",
        /// Lets it pass with a warning.
        Warn = "warn",
        /// Does nothing.
        Off = "off",
    }
}

words! {
    /// What the Git guard does when it cannot ask the server.
    GuardAway {
        /// Refuses: strict projects.
        Block = "block",
        /// Lets pass with a warning.
        Warn = "warn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(key: &str) -> String {
        ProjectKey::parse(key).unwrap().slug().to_string()
    }

    #[test]
    fn a_slug_comes_from_the_last_segment() {
        assert_eq!(slug("/srv/my.app"), "my-app");
        assert_eq!(slug("/srv/My App!"), "my-app");
        assert_eq!(slug("web"), "web");
        assert_eq!(slug("/"), "project");
        assert_eq!(slug("/srv/日本"), "project");
        assert_eq!(slug(&"x".repeat(200)).len(), SLUG_BYTES_MAX);
    }

    #[test]
    fn unresolved_keys_are_refused() {
        for key in [
            "", " ", "/a/../b", "./a", "/a/.", "/a//b", "/a/", "a\0b", "a\nb", " a", "a ",
        ] {
            assert!(ProjectKey::parse(key).is_err(), "{key:?}");
        }
        assert!(ProjectKey::parse(&"k".repeat(PROJECT_KEY_BYTES_MAX + 1)).is_err());
        for key in ["/", "/a", "a/b", "C:/work/app", "/srv/日本"] {
            assert!(ProjectKey::parse(key).is_ok(), "{key:?}");
        }
    }
}
