//! A live probe: what works now, never what worked before (K5).

use std::time::Duration;

use comity_kernel::Actor;
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
}

/// Writes, reads, and looks at what both need.
pub async fn probe(server: &Server) -> Health {
    let _turn = server.probing.lock().await;
    let checks = vec![
        write(server).await,
        read(server).await,
        descriptors(),
        git().await,
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

fn judged(name: &'static str, otherwise: Status, found: Result<String, String>) -> Probed {
    let (status, detail) = match found {
        Ok(detail) => (Status::Ok, detail),
        Err(detail) => (otherwise, detail),
    };
    Probed {
        name,
        status,
        detail,
    }
}
