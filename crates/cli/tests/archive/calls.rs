//! `git` is killed at each system call by which it changes the disk (D2, D7, D8), or the call is
//! refused (D4).
//!
//! `strace` counts the calls, and kills or refuses; a `git` that is first on the path hands over to it. Every
//! call in `scripts/campaign archive`, some of them otherwise.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::place::{Place, count, run};
use crate::repack::{must_be_tidy, names_in, packs};

/// What changes a file system. A machine may lack some of them.
const CALLS: [&str; 15] = [
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "ftruncate",
    "chmod",
    "mkdir",
    "link",
    "linkat",
    "symlink",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
];

/// A `git` on the path that is killed at a call of its own, or refused it.
struct Doomed {
    folder: PathBuf,
}

impl Doomed {
    fn new(place: &Place) -> Self {
        let folder = place.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let git = run(Command::new("sh").args(["-c", "command -v git"]));
        let (git, at) = (git.trim(), folder.display());
        let script = format!(
            "#!/bin/sh\n\
             read -r purpose call number doom times <'{at}/doom'\n\
             case \" $* \" in *\" $purpose \"*)\n\
             if [ \"$times\" -gt 0 ]; then\n\
             echo \"$purpose $call $number $doom $((times - 1))\" >'{at}/doom'\n\
             exec strace -f -qq -o '{at}/traced' -e \"trace=?$call\" \\\n\
             -e \"inject=?$call:$doom:when=$number\" '{git}' \"$@\"\n\
             fi ;;\n\
             esac\n\
             exec '{git}' \"$@\"\n"
        );
        let program = folder.join("git");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// Archives what there is; tells whether `git` was killed meanwhile.
    fn archive(&self, place: &Place, purpose: &str, call: &str, number: usize) -> bool {
        let doom = format!("{purpose} {call} {number} signal=KILL {}\n", u32::MAX);
        self.meet(place, &doom, "killed by SIGKILL")
    }

    /// Archives what there is; tells whether an import was refused a call with this error. Only the
    /// first ones are, as if what is smaller had room.
    fn refuse(&self, place: &Place, call: &str, number: usize, error: &str) -> bool {
        let doom = format!("fast-import {call} {number} error={error} 2\n");
        self.meet(place, &doom, "(INJECTED)")
    }

    fn meet(&self, place: &Place, doom: &str, sign: &str) -> bool {
        let traced = self.folder.join("traced");
        std::fs::write(&traced, "").unwrap();
        std::fs::write(self.folder.join("doom"), doom).unwrap();
        let mut path = self.folder.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = place.comity();
        command.env("PATH", path);
        let ended = command.args(["archive", "sync", "--operator"]);
        let ended = ended.output().unwrap();
        let met = std::fs::read_to_string(traced).unwrap().contains(sign);
        // A `git` that puts packs together is missed by nobody.
        assert!(ended.status.success() || met, "{doom}: {ended:?}");
        met
    }
}

/// Sends a message without a server; returns its number.
fn send(place: &Place, subject: &str) -> i64 {
    let letter = json!({ "project": "web", "to": ["operator"], "subject": subject, "body": "b" });
    let sent = place.ask(&["call", "send_message", &letter.to_string()]);
    sent["message"]["id"].as_i64().unwrap()
}

fn with_project(batch_max: &'static str) -> Place {
    let place = Place::new(batch_max);
    let project = json!({ "key": "web" }).to_string();
    place.ask(&["call", "ensure_project", &project]);
    place
}

/// Kills at each call, or at one in so many, until there are no more of them; returns how often.
fn kill_at_each(
    purpose: &str,
    one_in: usize,
    mut archive: impl FnMut(&str, usize) -> bool,
) -> usize {
    let step = count("COMITY_ARCHIVE_CALL_STEP", one_in);
    let mut kills = 0;
    for call in CALLS {
        let mut number = 1;
        while archive(call, number) {
            kills += 1;
            number += step;
        }
    }
    assert!(kills > 4, "{purpose}: only {kills} kills");
    kills
}

// D2 D3 D7 D8, fault 9
#[test]
fn an_import_killed_at_any_call_archives_once() {
    let started = Instant::now();
    let place = with_project("500");
    let doomed = Doomed::new(&place);
    place.ask(&["archive", "sync"]);
    let mut sent = Vec::new();
    let kills = kill_at_each("fast-import", 12, |call, number| {
        sent.push(send(&place, call));
        let killed = doomed.archive(&place, "fast-import", call, number);
        place.ask(&["archive", "sync"]);
        place.must_be_sound();
        must_be_tidy(&place);
        killed
    });
    let messages = sent.len();
    place.must_be_right(sent);
    eprintln!(
        "archive: git fast-import killed at {kills} calls, {messages} messages introduced once, {} s",
        started.elapsed().as_secs()
    );
}

/// Where git notices that there is no room, and one in how many of such calls is refused otherwise.
const FILLING: [(&str, usize); 4] = [("write", 1), ("fsync", 1), ("rename", 1), ("openat", 9)];

// D4, fault 2: room that is used up, by a quota of which the disk says nothing or for a moment, is the
// fault of no message
#[test]
fn an_import_without_room_at_any_call_puts_nothing_into_quarantine() {
    let started = Instant::now();
    let place = with_project("500");
    let doomed = Doomed::new(&place);
    place.ask(&["archive", "sync"]);
    let (mut sent, mut refusals) = (Vec::new(), 0);
    for (call, step) in FILLING {
        let step = count("COMITY_ARCHIVE_CALL_STEP", step);
        for error in ["EDQUOT", "ENOSPC"] {
            for number in (1..).step_by(step) {
                sent.push(send(&place, call));
                if !doomed.refuse(&place, call, number, error) {
                    break;
                }
                refusals += 1;
                let status = place.ask(&["archive", "status"]);
                let quarantined = &status["quarantined_count"];
                assert_eq!(quarantined, 0, "{call} {number} {error}: {status}");
                place.ask(&["archive", "sync"]);
            }
        }
    }
    assert!(refusals > 30, "only {refusals} calls");
    place.must_be_right(sent);
    must_be_tidy(&place);
    eprintln!(
        "archive: git fast-import refused room at {refusals} calls, nothing in quarantine, {} s",
        started.elapsed().as_secs()
    );
}

// D7 D8
#[test]
fn a_repository_whose_making_is_killed_at_any_call_is_made() {
    let started = Instant::now();
    let place = with_project("500");
    let doomed = Doomed::new(&place);
    let sent = vec![send(&place, "first")];
    let kills = kill_at_each("init", 12, |call, number| {
        let killed = doomed.archive(&place, "init", call, number);
        assert_eq!(place.repository().exists(), !killed, "whole or not at all");
        place.ask(&["archive", "sync"]);
        place.must_be_right(sent.clone());
        std::fs::remove_dir_all(place.repository()).unwrap();
        killed
    });
    eprintln!(
        "archive: git init killed at {kills} calls, made each time, {} s",
        started.elapsed().as_secs()
    );
}

// D13: what each leaves is gone before the next
#[test]
fn a_process_whose_repacks_are_all_killed_keeps_what_one_left() {
    let place = with_project("1");
    let doomed = Doomed::new(&place);
    let more = 8;
    let sent: Vec<_> = (1..49 + more).map(|_| send(&place, "pack")).collect();
    assert!(doomed.archive(&place, "repack", "rename", 1));
    let left = names_in(&place, "objects/pack");
    let left = left
        .iter()
        .filter(|name| !name.starts_with("pack-"))
        .count();
    assert!(
        left > 0 && left < more,
        "{left} files are left of {more} kills"
    );
    place.must_be_right(sent);
    must_be_tidy(&place);
}

/// Copies a data directory.
fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg(from).arg(to));
}

// D8 D13
#[test]
fn a_repack_killed_at_any_call_loses_nothing() {
    let started = Instant::now();
    let place = with_project("1");
    let doomed = Doomed::new(&place);
    let mut sent: Vec<_> = (1..49).map(|_| send(&place, "pack")).collect();
    place.ask(&["archive", "sync"]);
    sent.push(send(&place, "one too many"));
    let kept = place.path().join("kept");
    copy(&place.data(), &kept);
    let kills = kill_at_each("repack", 120, |call, number| {
        std::fs::remove_dir_all(place.data()).unwrap();
        copy(&kept, &place.data());
        let killed = doomed.archive(&place, "repack", call, number);
        place.must_be_sound();
        let after = send(&place, "after");
        place.must_be_right([sent.as_slice(), &[after]].concat());
        must_be_tidy(&place);
        let count = packs(&place);
        assert!(count < 50, "{call} {number}: {count} packs");
        killed
    });
    eprintln!(
        "archive: git repack killed at {kills} calls, {} s",
        started.elapsed().as_secs()
    );
}
