//! What a request carries, and the operations of which one side is bytes as they are.

use comity_kernel::Error;
use comity_kernel::mail::attachment::Base64;
use comity_kernel::operation::{Bytes, Operation};
use serde::Deserialize as _;
use serde_json::{Map, Value};

/// The type of bytes as they are.
pub(super) const BYTES: &str = "application/octet-stream";

/// The body of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// None: the query says it all.
    Nothing,
    /// JSON.
    Json(String),
    /// Bytes as they are.
    Bytes(Vec<u8>),
}

impl Content {
    /// Returns the body that an operation wants instead of JSON: the bytes of one of its fields.
    pub(super) fn of_bytes(
        operation: &Operation,
        request: &Map<String, Value>,
    ) -> Result<Option<Self>, Error> {
        let Bytes::Request(field) = operation.bytes else {
            return Ok(None);
        };
        // A field that has no place in such a request must not be lost in silence.
        if let Some(other) = request.keys().find(|name| *name != field) {
            return Err(Error::invalid(other, "is not a field of this request"));
        }
        let base64 = request.get(field);
        let base64 = base64.ok_or_else(|| Error::invalid(field, "is missing"))?;
        let bytes = Base64::deserialize(base64);
        let bytes = bytes.map_err(|_| Error::invalid(field, "must be base64"))?;
        Ok(Some(Self::Bytes(bytes.bytes().to_vec())))
    }

    /// Returns the type on the wire.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Nothing | Self::Json(_) => "application/json",
            Self::Bytes(_) => BYTES,
        }
    }

    /// Returns what goes over the wire.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Json(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Keeps what was asked where the answer will lack it.
pub(super) fn asked(operation: &Operation, request: &Map<String, Value>) -> Map<String, Value> {
    match operation.bytes {
        Bytes::Answer(_) => request.clone(),
        Bytes::None | Bytes::Request(_) => Map::new(),
    }
}

/// Makes bytes that were answered the object that they are without HTTP: beside what was asked.
pub(super) fn answer(operation: &Operation, asked: Map<String, Value>, answered: Value) -> Value {
    let Bytes::Answer(field) = operation.bytes else {
        return answered;
    };
    let mut answer = asked;
    answer.insert(field.to_owned(), answered);
    Value::Object(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_kernel::operation::find;
    use serde_json::json;

    #[test]
    fn the_bytes_of_a_field_are_the_body() {
        let put = find("put_attachment").unwrap();
        let content = |request: Value| Content::of_bytes(put, request.as_object().unwrap());
        let bytes = content(json!({ "content": "AP8K" })).unwrap();
        assert_eq!(bytes, Some(Content::Bytes(vec![0, 255, 10])));
        for (request, said) in [
            (json!({}), "`content` is missing"),
            (json!({ "content": "?" }), "`content` must be base64"),
            (json!({ "x": 1 }), "`x` is not a field of this request"),
        ] {
            assert_eq!(content(request).unwrap_err().to_string(), said);
        }
        let other = find("list_agents").unwrap();
        assert_eq!(Content::of_bytes(other, &Map::new()).unwrap(), None);
    }

    #[test]
    fn answered_bytes_stand_beside_what_was_asked() {
        let asked = json!({ "sha256": "ab" }).as_object().unwrap().clone();
        let fetched = answer(find("get_attachment").unwrap(), asked, json!("AP8K"));
        assert_eq!(fetched, json!({ "sha256": "ab", "content": "AP8K" }));
    }
}
