//! A sign of life; it lives in memory and is off the log.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{Line, Timestamp};
use serde::{Deserialize, Serialize};

/// Says that the agent lives, and what it is at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// How it is doing, such as `working` or `waiting`.
    #[serde(default)]
    pub status: Option<Line<LABEL_BYTES_MAX>>,
    /// What it works on.
    #[serde(default)]
    pub focus: Option<Line<LABEL_BYTES_MAX>>,
}

/// When the sign of life was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// The wall time.
    pub last_seen: Timestamp,
}
