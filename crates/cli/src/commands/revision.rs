//! The revision of something that was read.

use serde_json::Value;

use crate::failure::Failure;

/// Returns the revision of the entity in an answer.
pub(crate) fn of(answer: &Value, entity: &str) -> Result<i64, Failure> {
    let revision = answer.get(entity).and_then(|it| it.get("revision"));
    let revision = revision.and_then(Value::as_i64);
    revision.ok_or_else(|| Failure::unusable(format!("the {entity} that was read has no revision")))
}
