//! Processes as the kernel of the machine lists them, and the end of whole trees of them.

use std::collections::BTreeSet;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The variable by which everything that came of one command is known.
pub(super) const NONCE: &str = "COMITY_DISPATCH_NONCE";
/// How often a tree that grows is looked at before it is killed as it is.
const FREEZE_ROUNDS_MAX: usize = 64;

/// One process: a number alone may be another's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: i32,
    /// When it began, in ticks since the machine did.
    pub(super) start: u64,
}

/// A process with what is known of it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    process: Process,
    parent: i32,
    is_dead: bool,
}

impl Process {
    /// Finds the process that has a number now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        Some(seen(pid)?.process)
    }

    /// Tells whether it still runs.
    pub(super) fn is_alive(self) -> bool {
        seen(self.pid).is_some_and(|seen| seen.process == self && !seen.is_dead)
    }

    /// Sends it a signal, and never to a later process of the same number.
    ///
    /// Tells whether it may be sent to: what runs as somebody else may not.
    pub(super) fn send(self, signal: Signal) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return true;
        };
        let opened = pidfd_open(pid, PidfdFlags::empty());
        // What was opened is what was seen only if it is so still.
        if !self.is_alive() {
            return true;
        }
        // One that ended meanwhile needs no signal.
        let sent = match opened {
            Ok(fd) => pidfd_send_signal(fd, signal),
            Err(_) => kill_process(pid, signal),
        };
        sent != Err(Errno::PERM)
    }
}

/// Returns what this start of the machine is known by; nothing where it cannot be told.
pub(super) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns everything below a process that runs.
pub(super) fn below(root: i32) -> Vec<Process> {
    below_some(&[root])
}

/// Returns everything below several processes that runs.
fn below_some(roots: &[i32]) -> Vec<Process> {
    let all = all();
    let mut parents: BTreeSet<i32> = roots.iter().copied().collect();
    let mut found = Vec::new();
    loop {
        let is_new = |seen: &&Seen| {
            !seen.is_dead && parents.contains(&seen.parent) && !parents.contains(&seen.process.pid)
        };
        let new: Vec<_> = all.iter().filter(is_new).map(|seen| seen.process).collect();
        if new.is_empty() {
            return found;
        }
        parents.extend(new.iter().map(|process| process.pid));
        found.extend(new);
    }
}

/// Returns everything below this process that runs.
pub(super) fn below_this() -> Vec<Process> {
    below(own())
}

/// Returns the children of this process that run, but for some, and everything below them.
pub(super) fn children_but(is_spared: impl Fn(Process) -> bool) -> Vec<Process> {
    let own = own();
    let children = all().into_iter().filter(|seen| seen.parent == own);
    let others: Vec<_> = children.filter(|seen| !is_spared(seen.process)).collect();
    let roots: Vec<_> = others.iter().map(|seen| seen.process.pid).collect();
    let alive = others.iter().filter(|seen| !seen.is_dead);
    let mut found: Vec<_> = alive.map(|seen| seen.process).collect();
    found.extend(below_some(&roots));
    found
}

/// Returns everything that was started with a nonce and runs, but for this process.
pub(super) fn with_nonce(nonce: &str) -> Vec<Process> {
    let own = own();
    let wanted = format!("{NONCE}={nonce}");
    let has = |seen: &Seen| {
        let path = format!("/proc/{}/environ", seen.process.pid);
        let environment = std::fs::read(path).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    let others = all().into_iter().filter(|seen| seen.process.pid != own);
    let marked = others.filter(|seen| !seen.is_dead && has(seen));
    marked.map(|seen| seen.process).collect()
}

/// Kills everything that is found, and what it starts meanwhile: what is stopped starts nothing.
///
/// Returns what may not be killed, if that is all there is.
pub(super) fn kill(find: impl Fn() -> Vec<Process>) -> Vec<Process> {
    let mut stopped = BTreeSet::new();
    for _ in 0..FREEZE_ROUNDS_MAX {
        let new: Vec<_> = find()
            .into_iter()
            .filter(|process| stopped.insert(*process))
            .collect();
        if new.is_empty() {
            break;
        }
        for process in new {
            process.send(Signal::STOP);
        }
    }
    let mut found = find();
    let count = found.len();
    found.retain(|process| !process.send(Signal::KILL));
    if found.len() < count {
        found.clear();
    }
    found
}

/// Asks everything that is found to end, even what was stopped.
pub(super) fn terminate(found: &[Process]) {
    for process in found {
        process.send(Signal::TERM);
        process.send(Signal::CONT);
    }
}

fn own() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn all() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(seen).collect()
}

fn seen(pid: i32) -> Option<Seen> {
    let stat: io::Result<Vec<u8>> = std::fs::read(format!("/proc/{pid}/stat"));
    parse(pid, &String::from_utf8_lossy(&stat.ok()?))
}

/// Reads a line of `/proc/PID/stat`; the name in it may hold anything, parentheses too.
fn parse(pid: i32, line: &str) -> Option<Seen> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field; those up to the 4th are read.
    let start = fields.nth(17)?.parse().ok()?;
    Some(Seen {
        process: Process { pid, start },
        parent,
        is_dead,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str, nonce: &str) -> Child {
        Command::new("sh")
            .args(["-c", script])
            .env(NONCE, nonce)
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn until(what: impl Fn() -> bool) {
        let started = Instant::now();
        while !what() {
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_hostile_name_hides_nothing() {
        let stat = "7 (a) Z 1 (b c) S 42 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 998877 1 1";
        let seen = parse(7, stat).unwrap();
        assert_eq!((seen.parent, seen.process.start), (42, 998_877));
        assert!(!seen.is_dead);
        assert!(parse(7, "7 (x) S").is_none());
    }

    #[test]
    fn a_tree_is_found_by_descent_and_by_nonce_and_killed_whole() {
        let script = "trap '' TERM; setsid sleep 600 & sleep 600 & wait";
        let mut child = shell(script, "a-nonce-of-this-test");
        let pid = i32::try_from(child.id()).unwrap();
        until(|| below(pid).len() == 2 && with_nonce("a-nonce-of-this-test").len() == 3);
        let tree = below(pid);
        kill(|| with_nonce("a-nonce-of-this-test"));
        child.wait().unwrap();
        until(|| !tree.iter().any(|process| process.is_alive()));
        assert!(with_nonce("a-nonce-of-this-test").is_empty());
    }

    #[test]
    fn a_signal_reaches_nobody_else_of_the_same_number() {
        let mut child = shell("exec sleep 600", "x");
        let process = Process::of(child.id()).unwrap();
        let other = Process {
            start: process.start + 1,
            ..process
        };
        other.send(Signal::KILL);
        assert!(!other.is_alive() && process.is_alive());
        process.send(Signal::KILL);
        child.wait().unwrap();
        assert!(!process.is_alive());
    }
}
