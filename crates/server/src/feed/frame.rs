//! What is said over a WebSocket.

use axum::extract::ws::{CloseFrame, Message};
use comity_domain::Seq;
use comity_kernel::event::Told;
use serde::Deserialize;
use serde_json::json;

use super::hub::End;

/// The client broke a rule.
pub(super) const POLICY: u16 = 1_008;
/// The client sent too much at once.
pub(super) const TOO_LARGE: u16 = 1_009;
/// The client did not speak the protocol.
pub(super) const PROTOCOL: u16 = 1_002;

/// What a client may say.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Said {
    /// Start again from behind a place in the log.
    Subscribe { since: Seq },
    /// Are you there?
    Ping {},
}

impl Said {
    /// Understands a client, or not.
    pub(super) fn read(text: &str) -> Option<Self> {
        let said = serde_json::from_str(text).ok()?;
        match said {
            Self::Subscribe { since } if since < Seq::ZERO => None,
            said => Some(said),
        }
    }
}

/// The first thing a client hears.
pub(super) fn hello(as_of_seq: Seq) -> Message {
    text(json!({ "type": "hello", "as_of_seq": as_of_seq }).to_string())
}

/// The answer to a subscription: what follows it begins behind that place.
pub(super) fn subscribed(since: Seq) -> Message {
    text(json!({ "type": "subscribed", "since": since }).to_string())
}

/// The answer to a ping.
pub(super) fn pong() -> Message {
    text(r#"{"type":"pong"}"#.to_owned())
}

/// An event.
pub(super) fn event(told: &Told) -> Message {
    // An event is an object with fields in it.
    let fields = told.json.strip_prefix('{').unwrap_or_default();
    text(format!("{{\"type\":\"event\",{fields}"))
}

fn text(text: String) -> Message {
    Message::Text(text.into())
}

/// The last thing a client hears, and from where it may go on.
pub(super) fn farewell(end: &End, told: Seq) -> CloseFrame {
    let resume = format!("resume after {told}");
    let (code, reason) = match end {
        End::Stopped | End::Gone => (1_001, resume),
        End::Revoked => (4_401, "the credential is good no more".to_owned()),
        End::Slow => (1_013, resume),
        End::Pruned(oldest) => (4_410, format!("the log begins at event {oldest}")),
        End::Failed => (1_011, resume),
    };
    close(code, &reason)
}

/// A close frame.
pub(super) fn close(code: u16, reason: &str) -> CloseFrame {
    CloseFrame {
        code,
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_understood() {
        assert_eq!(Said::read(r#"{"type":"ping"}"#), Some(Said::Ping {}));
        let since = Seq::new(7);
        let subscribe = Said::read(r#"{"type":"subscribe","since":7}"#);
        assert_eq!(subscribe, Some(Said::Subscribe { since }));
        for text in [
            "",
            "7",
            r#"{"type":"other"}"#,
            r#"{"type":"ping","x":1}"#,
            r#"{"type":"subscribe"}"#,
            r#"{"type":"subscribe","since":-1}"#,
        ] {
            assert_eq!(Said::read(text), None, "{text}");
        }
    }
}
