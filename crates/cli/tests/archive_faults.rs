//! What can happen to an archive, with the real binary: kills of the server and of its `git`, disks
//! that are full, power cuts.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[path = "archive/calls.rs"]
mod calls;
#[path = "archive/crowd.rs"]
mod crowd;
#[path = "archive/disk.rs"]
mod disk;
#[path = "archive/git.rs"]
mod git;
#[path = "archive/kill.rs"]
mod kill;
#[path = "archive/place.rs"]
mod place;
#[path = "archive/power.rs"]
mod power;
#[path = "archive/repack.rs"]
mod repack;
