//! Senders that do not give up, and an archive whose server or `git` is killed under them
//! (D2, D3, D8, fault 9).
//!
//! `scripts/campaign archive` runs it with 300 kills. In the end every message that was acknowledged
//! must have been introduced by exactly one commit, and nobody has repaired anything.

use std::collections::BTreeMap;
use std::time::Instant;

use rustix::process::{Signal, kill_process};

use crate::crowd::{Crowd, Dice};
use crate::git::{git_at_work, git_of};
use crate::place::{Place, Server, count};

/// What was killed, and how often.
#[derive(Default)]
pub(crate) struct Kills(pub(crate) BTreeMap<String, usize>);

impl Kills {
    pub(crate) fn add(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn sum(&self) -> usize {
        self.0.values().sum()
    }
}

/// Kills the server or its `git`, one as often as the other, and starts the server again.
fn kill_about(place: &Place, addr: &str, mut server: Server, kills: usize) -> (Server, Kills) {
    let mut dice = Dice::new();
    let mut killed = Kills::default();
    while killed.sum() < kills {
        dice.rest(100_000);
        if dice.below(2) == 0 {
            let (git, purpose) = git_at_work(&server, &mut dice);
            // It may have ended by itself; until the server has asked for its end, its number is
            // nobody else's.
            if git_of(&server).is_some_and(|(now, _)| now == git) {
                kill_process(git, Signal::KILL).unwrap();
                killed.add(&format!("git {purpose}"));
            }
            continue;
        }
        let mut what = "server";
        if dice.below(2) == 0 {
            git_at_work(&server, &mut dice);
            what = "server beside git";
        }
        drop(server);
        killed.add(what);
        server = place.serve(addr).0;
    }
    (server, killed)
}

// D2 D3 D6 D7 D8, faults 7 and 9
#[test]
fn what_was_acknowledged_is_in_one_commit_whatever_is_killed() {
    let kills = count("COMITY_ARCHIVE_KILLS", 8);
    let started = Instant::now();
    let place = Place::new("4");
    let (server, addr) = place.serve("127.0.0.1:0");
    let crowd = Crowd::join(&place, &addr);
    let ((server, killed), sent) = crowd.send_while(|| kill_about(&place, &addr, server, kills));
    let messages = sent.len();
    let commits = place.must_be_right(sent);
    drop(server);
    eprintln!(
        "archive: {messages} messages in {commits} commits, kills {:?}, {} s: each introduced once",
        killed.0,
        started.elapsed().as_secs()
    );
}
