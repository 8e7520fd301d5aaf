//! What became of a call, as the protocol's result.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use tokio::task::JoinError;

use super::tools::Offer;

/// Makes a result of an answer: one text of compact JSON, and the value itself where the tool
/// declared its shape. A refusal is a result too, so that the agent reads it.
pub(super) fn of(offer: &Offer, answer: Result<Value, Value>) -> CallToolResult {
    match answer {
        Ok(answer) if offer.is_structured() => CallToolResult::structured(answer),
        Ok(answer) => CallToolResult::success(vec![ContentBlock::text(answer.to_string())]),
        Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.to_string())]),
    }
}

/// Takes the answer out of the task that made it; one that broke off is an error of ours.
pub(super) fn settled(
    task: Option<Result<Result<Value, Value>, JoinError>>,
) -> Result<Value, Value> {
    match task {
        Some(Ok(answer)) => answer,
        Some(Err(_)) | None => Err(json!({
            "error": "internal",
            "message": "the call broke off",
            "hint": "repeat it with the same idempotency key",
        })),
    }
}
