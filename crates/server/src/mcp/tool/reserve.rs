//! `reserve_files`.

use comity_domain::{LeaseMode, LiteralPath, Pattern, ReservationId, RunId, Span, Ttl};
use comity_kernel::Error;
use comity_kernel::reservation::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lease::held;
use super::untrusted::Marks;

/// Takes leases on files before you write them, all or none; taking them again, or `ids`, renews them.
///
/// A conflict names the holders: work on something else, `wait`, or write to them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReserveFiles {
    /// Paths from the project's root, taken literally; a directory is all below it.
    #[serde(default)]
    paths: Vec<LiteralPath>,
    /// `*` and `?` in a name, `**` across, `[a-z]`, `{a,b}`.
    #[serde(default)]
    patterns: Vec<Pattern>,
    /// Leases of yours to keep longer, instead of files.
    #[serde(default)]
    ids: Vec<ReservationId>,
    /// `exclusive` unless given; `shared` with others who only read.
    #[serde(default)]
    mode: Option<LeaseMode>,
    /// How long; `30m` unless given.
    #[serde(default)]
    ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[serde(default)]
    reason: Option<Reason>,
    /// The run it is for: they end with it.
    #[serde(default)]
    run: Option<RunId>,
    /// Wait for others to let go, up to `60s`.
    #[serde(default)]
    wait: Option<Span>,
}

impl Own for ReserveFiles {
    const NAME: &'static str = "reserve_files";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        if self.ids.is_empty() {
            let mut request = serde_json::to_value(&self)?;
            if let Value::Object(request) = &mut request {
                request.remove("ids");
            }
            return Ok(("reserve_files", request));
        }
        let named = [
            ("paths", !self.paths.is_empty()),
            ("patterns", !self.patterns.is_empty()),
            ("mode", self.mode.is_some()),
            ("reason", self.reason.is_some()),
            ("run", self.run.is_some()),
            ("wait", self.wait.is_some()),
        ];
        if let Some((field, _)) = named.into_iter().find(|(_, given)| *given) {
            return Err(Error::invalid(field, "does not go with `ids`"));
        }
        Ok(("renew", json!({ "ids": self.ids, "ttl": self.ttl })))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        // Own leases: their words are the caller's.
        json!({ "reservations": held(&answer) })
    }
}
