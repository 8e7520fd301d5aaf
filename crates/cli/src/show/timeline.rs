//! What happened to a run, as a person reads it: when, who, what.

use serde_json::Value;

use super::field::{field, list};
use super::gates;
use super::harmless::harmless;
use super::listing::columns;

/// Writes a page of a timeline, the failed checks of refused and overridden gates below them.
pub(crate) fn timeline(page: &Value) -> String {
    let row = |one: &Value| {
        let told = std::iter::once(field(one, "text"));
        let gate = one.get("payload").map(|payload| list(payload, "gate"));
        let failed = gates::failed(gate.unwrap_or_default());
        let failed = failed.map(|check| format!("  {check}"));
        let told: Vec<_> = told.chain(failed).collect();
        vec![
            field(one, "seq"),
            moment(&field(one, "at")),
            field(one, "who"),
            told.join("\n"),
        ]
    };
    let titles = ["seq", "when (UTC)", "who", "what"];
    let text = columns(&titles, list(page, "items").iter().map(row));
    match page.get("next").and_then(Value::as_str) {
        Some(next) => format!("{text}\nmore with --after {}", harmless(next)),
        None => text,
    }
}

/// A time of the wire to the second: `2026-11-15 09:30:00`.
pub(super) fn moment(time: &str) -> String {
    let (day, clock) = time.split_once('T').unwrap_or((time, ""));
    let clock = clock.split(['.', 'Z']).next().unwrap_or_default();
    format!("{day} {clock}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S23: notes and reasons are others' text
    #[test]
    fn a_refusal_has_its_failed_checks_below_it() {
        let check = |word: &str, passed: bool, detail: &str| json!({ "rule": { "check": word, "tier": "hard" }, "passed": passed, "detail": detail });
        let refused = json!({
            "seq": 12, "at": "2026-11-15T09:30:00.123456Z", "who": "Blue",
            "text": "refused from a to b: verdict_exists (no verdict in `a`)",
            "payload": { "gate": [
                check("agents_complete", true, "no active agent"),
                check("verdict_exists", false, "no verdict in `a`"),
            ] },
        });
        let overridden = json!({
            "seq": 13, "at": "2026-11-15T09:31:00Z", "who": "operator",
            "text": "overridden: \u{1b}[2J",
            "payload": { "gate": [check("verdict_exists", false, "no verdict")] },
        });
        let shown = [
            "seq  when (UTC)           who       what",
            "12   2026-11-15 09:30:00  Blue      refused from a to b: verdict_exists (no verdict in `a`)",
            "                                      ✗ verdict_exists: no verdict in `a`",
            "13   2026-11-15 09:31:00  operator  overridden: \\u{1b}[2J",
            "                                      ✗ verdict_exists: no verdict",
        ];
        let page = json!({ "items": [refused, overridden], "next": null });
        assert_eq!(timeline(&page), shown.join("\n"));
    }
}
