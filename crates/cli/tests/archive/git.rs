//! The `git` of a server, to be killed.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::crowd::{Dice, PATIENCE};
use crate::place::Server;

/// How long a `git` takes at most, roughly: a kill comes at any moment of that.
const LIFE_US: u64 = 20_000;

/// Finds a `git` that the server has started, and what for.
pub(crate) fn git_of(server: &Server) -> Option<(Pid, &'static str)> {
    for child in children_of(server.0.id()) {
        let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let words: Vec<_> = words.split(|byte| *byte == 0).collect();
        let is = |name: &&str| words.contains(&name.as_bytes());
        let purposes = ["fast-import", "repack", "cat-file", "init"];
        if words.first() == Some(&b"git".as_slice())
            && let Some(purpose) = purposes.into_iter().find(is)
        {
            return Some((pid(child), purpose));
        }
    }
    None
}

/// The processes that a process has started, as long as they last.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    // It and its threads may have ended since.
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let children =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let children = children.collect::<Vec<_>>().join(" ");
    let numbers = children
        .split_whitespace()
        .map(|word| word.parse().unwrap());
    numbers.collect()
}

pub(crate) fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

/// Waits for a `git` of the server that is wanted.
pub(crate) fn git_for(server: &Server, is_wanted: fn(&str) -> bool) -> (Pid, &'static str) {
    let started = Instant::now();
    loop {
        if let Some(found) = git_of(server).filter(|(_, purpose)| is_wanted(purpose)) {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "nothing is archived any more");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Waits for any `git` of the server, and then for a moment of its life.
pub(crate) fn git_at_work(server: &Server, dice: &mut Dice) -> (Pid, &'static str) {
    let found = git_for(server, |_| true);
    dice.rest(LIFE_US);
    found
}
