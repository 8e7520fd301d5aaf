//! What happens to streams: their callers say it.

use comity_domain::{ProjectId, StreamId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Somebody appended an event of their own kind to a stream.
///
/// Its kind in the log is the caller's word, so it is beside the payload and not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomAppended {
    /// The stream's number.
    pub id: StreamId,
    /// The project.
    pub project: ProjectId,
    /// The stream's name.
    pub stream: String,
    /// Its number within the stream: 1, 2, 3 …
    pub version: i64,
    /// What the caller says.
    pub data: Map<String, Value>,
    /// Its kind: `custom.` and the caller's word.
    #[serde(skip)]
    pub kind: String,
}

impl CustomAppended {
    /// Reads it back, from its kind and its payload.
    pub fn read(kind: &str, payload: &str) -> serde_json::Result<Self> {
        let read: Self = serde_json::from_str(payload)?;
        Ok(Self {
            kind: kind.to_owned(),
            ..read
        })
    }
}
