//! The answer to a client program.

use comity_kernel::reservation::Conflict;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::show::{ago, harmless, length};

/// Characters of a holder's reason that are shown.
const REASON_CHARS_MAX: usize = 200;

/// What a client program is told.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Go on; nothing is said.
    Pass,
    /// Do not.
    Block(Value),
    /// Go on, although we could not do our part.
    Failed(Value),
}

impl Verdict {
    /// Blocks an edit of what others hold.
    pub(super) fn held(conflicts: &[Conflict]) -> Self {
        let message = match conflicts {
            [] => "it is held by others. Nothing was written.".to_owned(),
            [first, more @ ..] => paragraph(first, more.len()),
        };
        Self::Block(json!({
            "error": "reservation_conflict",
            "message": message,
            "conflicts": conflicts,
        }))
    }

    /// Blocks an edit because nobody could be asked, and the project wants that.
    pub(super) fn unasked(failure: &Failure) -> Self {
        let why = failure.message();
        Self::Block(json!({
            "error": failure.body.get("error"),
            "message": format!(
                "Comity could not be asked whether somebody else holds this file: {why}. The project's setting `guard_away` is `block`, so nothing was written. Start the server (`comity serve`), or ask the operator."
            ),
        }))
    }
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.body)
    }
}

/// Says which file, who holds it, why, for how long, and what to do.
fn paragraph(first: &Conflict, more: usize) -> String {
    let (id, holder) = (first.reservation_id, harmless(&first.held_by));
    let (pattern, left) = (harmless(&first.pattern), length(first.ttl_remaining_ms));
    let seen = match first.holder_last_seen {
        Some(seen) => format!(", last seen {}", ago(&seen.to_string())),
        None => String::new(),
    };
    // Somebody else's words, and shown as such: who reads them may be a model.
    let reason: String = first.reason.chars().take(REASON_CHARS_MAX).collect();
    let reason = match harmless(&reason) {
        nothing if nothing.is_empty() => String::new(),
        reason => format!(" Its reason, in its own words: \"{reason}\"."),
    };
    let more = match more {
        0 => String::new(),
        more => format!(" {more} more leases are in the way."),
    };
    format!(
        "`{pattern}` is held by `{holder}` for another {left} (lease {id}{seen}).{reason}{more} Nothing was written. Work on something else, ask for it with `comity ask-release {id} --reason WHY`, or wait and try again."
    )
}
