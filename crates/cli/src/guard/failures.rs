//! How the guard says no.

use comity_domain::GuardAway;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Exit code of a question that nobody could be asked.
const COULD_NOT_ASK: u8 = 9;

/// Says that somebody is in the way.
pub(crate) fn refused(sum: &str) -> Failure {
    Failure {
        exit: 1,
        body: json!({ "error": "reservation_conflict", "message": sum }),
        is_away: false,
    }
}

/// Says that nobody could be asked, and what the project's setting makes of it.
pub(crate) fn could_not_ask(failure: &Failure, away: Option<GuardAway>) -> Failure {
    let setting = match away {
        Some(GuardAway::Block) => "the project's setting `guard_away` is `block`",
        Some(GuardAway::Warn) => "the project's setting `guard_away` is `warn`",
        None => "no answer is remembered here, which counts as `block`",
    };
    let hint = failure.body.get("hint").and_then(Value::as_str);
    let hint = hint.unwrap_or_default();
    let word = failure.body.get("error").cloned();
    Failure {
        exit: COULD_NOT_ASK,
        body: json!({
            "error": word.unwrap_or_else(|| "unusable".into()),
            "message": format!("the guard could not ask: {}", failure.message()),
            "hint": format!("{setting}; {hint}"),
        }),
        is_away: failure.is_away,
    }
}
