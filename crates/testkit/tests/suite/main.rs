//! The conformance suite: every fact on both engines, and on one alone only with a reason.

mod agents;
mod clocks;
mod damage;
mod engines;
mod idempotency;
mod migrations;
mod presence;
mod projects;
mod schema;
mod servers;
mod tokens;
