//! The conformance suite: every fact on both engines.

mod agents;
