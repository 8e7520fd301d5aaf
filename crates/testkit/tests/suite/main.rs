//! The conformance suite: every fact on both engines, and on one alone only with a reason.

mod agents;
mod batching;
mod clocks;
mod crash;
mod damage;
mod engines;
mod idempotency;
mod identity;
mod io_faults;
mod lease_index;
mod lease_judge;
mod lease_plans;
mod lease_races;
mod lease_schema;
mod locks;
mod mail;
mod migrations;
mod model;
mod presence;
mod processes;
mod projects;
mod reservations;
mod schema;
mod servers;
mod small_disk;
mod tokens;
