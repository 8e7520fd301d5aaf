//! Reads arguments into the kernel's types by the kernel's own rules.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads text as the type reads it from a request.
pub(crate) fn text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| error.to_string())
}

/// Reads JSON as the type reads it from a request: numbers, objects.
pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Reads one of a few words.
pub(crate) fn word<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| text::<T>(&word))
}
