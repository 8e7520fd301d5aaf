//! Request ids, and the trace a request is part of.

use axum::http::{HeaderMap, HeaderName};
use comity_domain::token::to_hex;
use comity_kernel::actor::Correlation;
use comity_kernel::ambient::Ambient;

/// The header with a request's id, taken over from callers that give one.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The W3C header that names a trace.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The longest id taken over.
const REQUEST_ID_BYTES_MAX: usize = 64;

/// Takes a caller's id if it is harmless, or makes one.
pub(super) fn request_id(headers: &HeaderMap, ambient: &Ambient) -> String {
    let harmless = |id: &&str| {
        (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match given.filter(harmless) {
        Some(id) => id.to_owned(),
        None => to_hex(&ambient.random::<8>()),
    }
}

/// Takes the trace a request is part of; a header that is none is passed over, as W3C says.
pub(super) fn correlation(headers: &HeaderMap) -> Option<Correlation> {
    let text = headers.get(TRACEPARENT)?.to_str().ok()?;
    traceparent(text)
}

/// Checks a `traceparent`: version, trace, parent and flags in lower-case hexadecimal.
pub(crate) fn traceparent(text: &str) -> Option<Correlation> {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = parts.as_slice() else {
        return None;
    };
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let named = |part: &str| part.bytes().any(|byte| byte != b'0');
    let good = *version == "00"
        && hex(trace, 32)
        && named(trace)
        && hex(parent, 16)
        && named(parent)
        && hex(flags, 2);
    good.then(|| Correlation::parse(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_trace_is_kept() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(traceparent(good).unwrap().to_string(), good);
        for bad in [
            "",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        ] {
            assert!(traceparent(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_strange_request_id_is_replaced() {
        let ambient = Ambient::system();
        let id = |given: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, given.parse().unwrap());
            request_id(&headers, &ambient)
        };
        assert_eq!(id("abc-1.2_3"), "abc-1.2_3");
        assert_eq!(id("a b").len(), 16);
        assert_eq!(id("").len(), 16);
    }
}
