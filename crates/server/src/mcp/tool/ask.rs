//! `request_release` and `answer_release`.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{ReleaseRequestId, ReservationId, Span, Text};
use comity_kernel::Error;
use comity_kernel::reservation::Reason;
use comity_kernel::reservation::request::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::marked;
use super::untrusted::Marks;

/// Asks the holder of a lease to release it, by mail; its answer comes to your inbox.
///
/// Asking again while the holder has not answered changes nothing.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestRelease {
    /// The lease's number, as a conflict says it.
    id: ReservationId,
    /// Why you need it; its holder reads it.
    reason: Text<TASK_BYTES_MAX>,
}

impl Own for RequestRelease {
    const NAME: &'static str = "request_release";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("request_release", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        shown(answer, marks)
    }
}

/// Answers somebody who asked for a lease of yours; it gets mail about it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRelease {
    /// The request's number, as the mail says it.
    id: ReleaseRequestId,
    /// `release` gives the lease back at once, `defer` keeps it for now.
    answer: Verdict,
    /// With `defer`, when you expect to be done.
    #[serde(default)]
    eta: Option<Span>,
    /// A word to whoever asked.
    #[serde(default)]
    note: Option<Reason>,
}

impl Own for AnswerRelease {
    const NAME: &'static str = "answer_release";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("answer_release", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        shown(answer, marks)
    }
}

/// One side wrote the pattern, the other the reason.
fn shown(answer: Value, marks: &Marks) -> Value {
    let Some(request) = answer.get("release_request") else {
        return answer;
    };
    let request = marked(request, &["path_pattern", "reason"], marks);
    json!({ "note": marks.note(), "release_request": request, "created": answer.get("created") })
}
