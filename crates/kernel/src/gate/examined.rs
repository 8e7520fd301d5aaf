//! What a gate was found to be.

use comity_domain::{Rule, Tier, Transition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One check of a gate, and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// The step it belongs to, `from->to`.
    pub step: Transition,
    /// The check, and what failing it means.
    pub rule: Rule,
    /// Whether it passed.
    pub passed: bool,
    /// What was found.
    pub detail: String,
    /// The numbers of what it relied on: artifacts, verdicts, approvals, or what is in the way.
    pub evidence: Vec<i64>,
}

impl Examined {
    /// Tells whether this keeps the run where it is.
    pub fn refuses(&self) -> bool {
        !self.passed && self.rule.tier == Tier::Hard
    }
}
