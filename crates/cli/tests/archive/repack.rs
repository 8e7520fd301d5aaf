//! Packs are put together, and whoever does it is killed (D13).
//!
//! `scripts/campaign archive` runs it with 50 kills.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::crowd::{Crowd, Dice, PATIENCE};
use crate::git::{children_of, git_for, git_of, pid};
use crate::kill::Kills;
use crate::place::{Place, Server, count};

/// Packs at which an archive puts them together.
const PACKS_MAX: usize = 50;
/// How long it takes to put them together, roughly.
const LIFE_US: u64 = 25_000;

/// Files of the repository, by the name of their folder.
pub(crate) fn names_in(place: &Place, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.repository().join(folder));
    let names = entries.into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    names.collect()
}

pub(crate) fn packs(place: &Place) -> usize {
    let names = names_in(place, "objects/pack");
    let stem = |name: &String| {
        name.strip_prefix("pack-")?
            .strip_suffix(".pack")
            .map(str::len)
    };
    names.iter().filter_map(stem).count()
}

/// What lies about and no reader of the archive needs.
fn litter(place: &Place) -> Vec<String> {
    let folders = ["", "info", "objects", "objects/info", "objects/pack"];
    let names = folders.into_iter().flat_map(|folder| {
        let names = names_in(place, folder);
        names
            .into_iter()
            .map(move |name| format!("{folder}/{name}"))
    });
    let is_left = |name: &String| name.contains("tmp") || name.contains('_');
    names.filter(is_left).collect()
}

pub(crate) fn must_be_tidy(place: &Place) {
    let litter = litter(place);
    assert!(litter.is_empty(), "{litter:?}");
}

/// Waits until packs are few and nothing lies about; returns how many packs there are.
fn few_packs(place: &Place) -> usize {
    let started = Instant::now();
    loop {
        let (packs, litter) = (packs(place), litter(place));
        if packs < PACKS_MAX && litter.is_empty() {
            return packs;
        }
        assert!(started.elapsed() < PATIENCE, "{packs} packs, {litter:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills `git repack`, what it started, or the server beside it.
fn kill_while_repacking(
    place: &Place,
    addr: &str,
    mut server: Server,
    kills: usize,
) -> (Server, Kills, usize) {
    let mut dice = Dice::new();
    let (mut killed, mut most) = (Kills::default(), 0);
    while killed.sum() < kills {
        let (repack, _) = git_for(&server, |purpose| purpose == "repack");
        most = most.max(packs(place));
        dice.rest(LIFE_US);
        let lives = git_of(&server).is_some_and(|(now, _)| now == repack);
        let below = children_of(u32::try_from(Pid::as_raw(Some(repack))).unwrap());
        match (dice.below(3), below.first()) {
            _ if !lives => {}
            (0, Some(child)) => {
                // It may have ended by itself; its parent has to ask for its end first.
                let _ = kill_process(pid(*child), Signal::KILL);
                killed.add("pack-objects");
            }
            (1, _) => {
                drop(server);
                killed.add("server");
                server = place.serve(addr).0;
            }
            _ => {
                kill_process(repack, Signal::KILL).unwrap();
                killed.add("repack");
            }
        }
    }
    (server, killed, most)
}

// D8 D13
#[test]
fn packs_stay_few_however_often_putting_them_together_is_killed() {
    let kills = count("COMITY_ARCHIVE_REPACK_KILLS", 4);
    let started = Instant::now();
    // One event a commit, one commit a pack.
    let place = Place::new("1");
    let (server, addr) = place.serve("127.0.0.1:0");
    let crowd = Crowd::join(&place, &addr);
    let ((server, killed, most), mut sent) =
        crowd.send_while(|| kill_while_repacking(&place, &addr, server, kills));
    // Nobody kills any more; once more there is something to put together.
    sent.extend((0..=PACKS_MAX).map(|nth| crowd.send(&format!("last-{nth}"))));
    let messages = sent.len();
    let commits = place.must_be_right(sent);
    assert!(most <= 2 * PACKS_MAX, "{most} packs");
    let left = few_packs(&place);
    drop(server);
    eprintln!(
        "archive: {messages} messages in {commits} commits, repacking killed {:?}, {most} packs at \
         most and {left} in the end, {} s",
        killed.0,
        started.elapsed().as_secs()
    );
}
