//! Events, as a person reads them: number, when, who, what.

use serde_json::Value;

use super::field::{field, list};
use super::harmless::harmless;
use super::listing::{cut, listing};
use super::timeline::moment;

/// Writes a page of events.
pub(crate) fn page(page: &Value) -> String {
    listing(page, &["seq", "when (UTC)", "who", "what"], |event| {
        vec![
            field(event, "seq"),
            moment(&field(event, "at")),
            field(event, "who"),
            cut(&field(event, "text")),
        ]
    })
}

/// Writes one event on one line.
pub(crate) fn line(event: &Value) -> String {
    format!(
        "{}  {}  {}  {}",
        field(event, "seq"),
        moment(&field(event, "at")),
        field(event, "who"),
        cut(&field(event, "text")),
    )
}

/// Writes what a consumer gets, and what it does next.
pub(crate) fn polled(answer: &Value) -> String {
    let mut lines: Vec<_> = list(answer, "items").iter().map(line).collect();
    if let Some(epoch) = answer.get("epoch_changed").filter(|epoch| !epoch.is_null()) {
        lines.push(format!(
            "the log goes on in epoch {}, from event {}; events behind {} are lost",
            field(epoch, "epoch"),
            field(epoch, "begins"),
            field(epoch, "after"),
        ));
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    lines.push(format!("acknowledge up to {}", field(answer, "through")));
    lines.join("\n")
}

/// Writes a page of a stream.
pub(crate) fn stream(page: &Value) -> String {
    let titles = ["version", "seq", "when (UTC)", "who", "kind", "payload"];
    listing(page, &titles, |event| {
        let payload = event.get("payload").map(Value::to_string);
        vec![
            field(event, "version"),
            field(event, "seq"),
            moment(&field(event, "at")),
            field(event, "actor"),
            field(event, "kind"),
            cut(&harmless(&payload.unwrap_or_default())),
        ]
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S23: subjects and goals are others' text
    #[test]
    fn an_event_is_one_line_that_harms_no_terminal() {
        let event = json!({
            "seq": 7, "at": "2026-11-15T09:30:00.123456Z", "who": "Blue",
            "text": "message 3 sent: a\nb\u{1b}[2J",
        });
        let shown = "7  2026-11-15 09:30:00  Blue  message 3 sent: a\\nb\\u{1b}[2J";
        assert_eq!(line(&event), shown);
        let answer = json!({
            "items": [event], "through": 9,
            "epoch_changed": { "epoch": "e", "begins": 9, "after": 7 },
        });
        let told = "the log goes on in epoch e, from event 9; events behind 7 are lost";
        assert_eq!(
            polled(&answer),
            format!("{shown}\n{told}\nacknowledge up to 9")
        );
        assert_eq!(
            polled(&json!({ "items": [], "through": 3 })),
            "none\nacknowledge up to 3"
        );
        let page = json!({ "items": [{
            "version": 1, "seq": 4, "at": "2026-11-15T09:30:00Z", "actor": "agent:1",
            "kind": "custom.x", "payload": { "a": "\u{202e}" },
        }], "next": "1" });
        let table = "version  seq  when (UTC)           who      kind      payload\n\
                     1        4    2026-11-15 09:30:00  agent:1  custom.x  {\"a\":\"\\u{202e}\"}\n\
                     more with --after 1";
        assert_eq!(stream(&page), table);
    }
}
