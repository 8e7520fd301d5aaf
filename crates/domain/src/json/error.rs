//! The fault of one field, as serde's hooks report it.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};
use serde_json::Value;

use super::echo;
use crate::suggest::nearest;

/// Says which field of a request is at fault and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `metadata.x` or `to[3]`; empty for the whole request.
    pub field: String,
    /// What the field must be, in lower case and without a full stop, such as `is missing`.
    pub rule: String,
}

impl FieldError {
    /// Makes an error about the value being decoded; its path grows on the way out.
    pub(super) fn here(rule: String) -> Self {
        let field = String::new();
        Self { field, rule }
    }

    /// Makes an error about one key of the object being decoded.
    fn at_key(key: &str, rule: String) -> Self {
        let field = echo::step(key);
        Self { field, rule }
    }

    /// Makes an error about a value of another kind than the one wanted.
    pub(super) fn mismatch(value: &Value, wanted: &str) -> Self {
        let found = echo::found(echo::kind(value));
        Self::here(format!("must be {wanted}, not {found}"))
    }

    /// Places the error under a key of the object around it.
    pub(super) fn under_key(self, key: &str) -> Self {
        self.under(echo::step(key))
    }

    /// Places the error under an item of the array around it.
    pub(super) fn under_item(self, index: usize) -> Self {
        self.under(format!("[{index}]"))
    }

    /// Says that the error is about a key itself, not about the value under it.
    pub(super) fn about_key(self, key: &str) -> Self {
        if self.field.is_empty() {
            let (key, rule) = (echo::quoted(key), self.rule);
            Self::here(format!("has the key {key}, which {rule}"))
        } else {
            self
        }
    }

    fn under(self, mut path: String) -> Self {
        if !self.field.is_empty() && !self.field.starts_with('[') {
            path.push('.');
        }
        path.push_str(&self.field);
        Self {
            field: path,
            ..self
        }
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "the request {}", self.rule)
        } else {
            write!(f, "`{}` {}", self.field, self.rule)
        }
    }
}

impl std::error::Error for FieldError {}

impl de::Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        Self::here(echo::rule(&message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let wanted = echo::expected(&expected.to_string());
        let found = echo::found(unexpected);
        Self::here(format!("must be {wanted}, not {found}"))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let wanted = echo::expected(&expected.to_string());
        Self::here(format!("must be {wanted}, not of length {length}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let wanted = echo::one_of(expected);
        let hint = match nearest(variant, expected.iter().copied()) {
            Some(near) => format!("; did you mean {}?", echo::named(near)),
            None => format!(", not {}", echo::quoted(variant)),
        };
        Self::here(format!("must be {wanted}{hint}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = match nearest(field, expected.iter().copied()) {
            Some(near) => format!("; did you mean {}?", echo::named(near)),
            None if expected.is_empty() => "; there are no fields here".to_owned(),
            None => format!("; the fields here are {}", echo::names(expected)),
        };
        Self::at_key(field, format!("is not a field of this request{hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::at_key(field, "is missing".to_owned())
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::at_key(field, "is given more than once".to_owned())
    }
}
