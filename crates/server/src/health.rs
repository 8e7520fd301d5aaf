//! A live probe: what works now, never what worked before (K5).

use std::time::Duration;

use comity_domain::limits::ARCHIVE_LAG_US_MAX;
use comity_domain::{Seq, Timestamp};
use comity_kernel::Actor;
use comity_kernel::archive::{ArchiveState, ArchiveStatus};
use comity_kernel::hook::standing::{HookStanding, HooksStand};
use comity_kernel::page::Limit;
use comity_kernel::project::ListProjects;
use serde::Serialize;

use crate::Server;

/// How long a write or read may take before it counts as failing.
const PATIENCE: Duration = Duration::from_secs(2);
/// Open files that must stay free.
const DESCRIPTORS_FREE_MIN: u64 = 100;

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything works.
    Ok,
    /// Requests work; something beside them does not.
    Degraded,
    /// Requests fail.
    Failing,
}

/// What a probe found.
#[derive(Clone, Debug, Serialize)]
pub struct Health {
    /// The worst of the checks.
    pub status: Status,
    /// The checks, one by one.
    pub checks: Vec<Probed>,
}

/// One probed thing.
#[derive(Clone, Debug, Serialize)]
pub struct Probed {
    /// What was probed.
    pub name: &'static str,
    /// How it is.
    pub status: Status,
    /// What was found.
    pub detail: String,
    /// How the archive stands, where that is what was probed.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Archived>,
}

/// How the archive stands.
#[derive(Clone, Debug, Serialize)]
pub struct Archived {
    /// What it is doing.
    pub state: ArchiveState,
    /// The last event that is in it.
    pub through: Seq,
    /// How many events are not in it yet.
    pub lag: i64,
    /// How old the oldest of them is.
    pub age_ms: Option<i64>,
    /// Since when it is not doing well.
    pub degraded_since: Option<Timestamp>,
}

/// Writes, reads, and looks at what both need.
pub async fn probe(server: &Server) -> Health {
    let _turn = server.probing.lock().await;
    let checks = vec![
        write(server).await,
        read(server).await,
        descriptors(),
        git().await,
        archive(server).await,
        hooks(server).await,
        vectors(server).await,
    ];
    Health {
        status: checks
            .iter()
            .map(|check| check.status)
            .max()
            .unwrap_or(Status::Ok),
        checks,
    }
}

/// Commits for real; a full disk, a read-only file or a stuck writer shows here.
async fn write(server: &Server) -> Probed {
    let written = tokio::time::timeout(PATIENCE, server.kernel.probe()).await;
    judged(
        "write",
        Status::Failing,
        match written {
            Ok(Ok(())) => Ok("committed".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the writer does not answer".to_owned()),
        },
    )
}

async fn read(server: &Server) -> Probed {
    let query = ListProjects {
        limit: Limit::default(),
        ..ListProjects::default()
    };
    let read = server.kernel.query(Actor::System, query);
    judged(
        "read",
        Status::Failing,
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(read)) => Ok(format!("as of {}", read.as_of_seq)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the readers do not answer".to_owned()),
        },
    )
}

fn descriptors() -> Probed {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let free = match (limit, open_descriptors()) {
        (Some(limit), Some(open)) => limit.saturating_sub(open),
        // None can be opened, not even to count them.
        (Some(_), None) => 0,
        (None, _) => u64::MAX,
    };
    judged(
        "descriptors",
        Status::Degraded,
        match free {
            free if free >= DESCRIPTORS_FREE_MIN => Ok("enough are free".to_owned()),
            free => Err(format!("{free} are free")),
        },
    )
}

/// Counts this process's open files.
pub(crate) fn open_descriptors() -> Option<u64> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    Some(open.count() as u64)
}

/// Without a fitting `git` the archive is off; requests go on (A9).
async fn git() -> Probed {
    let checked = tokio::task::spawn_blocking(comity_archive::check);
    let checked = tokio::time::timeout(PATIENCE, checked).await;
    judged(
        "git",
        Status::Degraded,
        match checked {
            Ok(Ok(Ok(version))) => Ok(version.to_string()),
            Ok(Ok(Err(unfit))) => Err(unfit.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("`git` does not answer".to_owned()),
        },
    )
}

/// Asks how the archive stands. Requests do not need it, so it never is worse than degraded.
async fn archive(server: &Server) -> Probed {
    let asked = archive_status(server).await;
    let status = match asked {
        Ok(status) => status,
        Err(reason) => return judged("archive", Status::Degraded, Err(reason)),
    };
    let now = server.ambient.clock.read(None).wall;
    let age_us = status
        .oldest_at
        .map(|at| (now.micros() - at.micros()).max(0));
    let late = age_us.is_some_and(|age_us| age_us > ARCHIVE_LAG_US_MAX);
    let lag = status.lag;
    let found = match status.state {
        ArchiveState::Degraded | ArchiveState::Stopped => Err(status.detail),
        ArchiveState::Following | ArchiveState::Resting if late => {
            let seconds = age_us.unwrap_or_default() / 1_000_000;
            Err(format!(
                "{lag} events behind; the oldest waits for {seconds} s"
            ))
        }
        ArchiveState::Following | ArchiveState::Resting => Ok(format!("{lag} events behind")),
        ArchiveState::Off => Ok(status.detail),
    };
    let archive = Archived {
        state: status.state,
        through: status.through,
        lag,
        age_ms: age_us.map(|age_us| age_us / 1_000),
        degraded_since: status.degraded_since,
    };
    Probed {
        archive: Some(archive),
        ..judged("archive", Status::Degraded, found)
    }
}

/// Asks how the hooks stand. Dead letters are for people to look at; a hook that lost its place is
/// told nothing any more.
async fn hooks(server: &Server) -> Probed {
    let found = hooks_stand(server).await.and_then(|stand| {
        let HooksStand {
            hooks,
            lost,
            lag,
            waiting,
            dead,
            ..
        } = stand;
        let said = format!("{hooks} hooks, {lag} events behind, {waiting} wait, {dead} given up");
        match lost {
            0 => Ok(said),
            lost => Err(format!(
                "{said}; {lost} lost their place: remove and add them"
            )),
        }
    });
    judged("hooks", Status::Degraded, found)
}

/// Asks how the hooks stand, but not for long.
pub(crate) async fn hooks_stand(server: &Server) -> Result<HooksStand, String> {
    let asked = server.kernel.query(Actor::System, HookStanding);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(read)) => Ok(read.answer),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the readers do not answer".to_owned()),
    }
}

/// Tells how many discoveries have no vector of the embedder yet. Searches by nearness miss them, and
/// so do comparisons of what is submitted.
async fn vectors(server: &Server) -> Probed {
    let missing = tokio::time::timeout(PATIENCE, server.kernel.without_vectors()).await;
    let found = match (server.embedding.said(), missing) {
        (Some(said), _) => Err(said),
        (None, Ok(Ok(None))) => Ok("there is no embedder".to_owned()),
        (None, Ok(Ok(Some((model, 0))))) => Ok(format!("all discoveries have one of `{model}`")),
        (None, Ok(Ok(Some((model, missing))))) => {
            Ok(format!("{missing} discoveries have none of `{model}` yet"))
        }
        (None, Ok(Err(error))) => Err(error.to_string()),
        (None, Err(_)) => Err("the readers do not answer".to_owned()),
    };
    judged("vectors", Status::Degraded, found)
}

/// Asks how the archive stands, but not for long.
pub(crate) async fn archive_status(server: &Server) -> Result<ArchiveStatus, String> {
    let archive = std::sync::Arc::clone(&server.archive);
    let asked = tokio::task::spawn_blocking(move || archive.status());
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(status)) => status.map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the archive does not answer".to_owned()),
    }
}

fn judged(name: &'static str, otherwise: Status, found: Result<String, String>) -> Probed {
    let (status, detail) = match found {
        Ok(detail) => (Status::Ok, detail),
        Err(detail) => (otherwise, detail),
    };
    Probed {
        name,
        status,
        detail,
        archive: None,
    }
}
