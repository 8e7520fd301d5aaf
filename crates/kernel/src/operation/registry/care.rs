//! The archive, and what keeps a workspace in health.

use super::super::call::{
    call_archive_rebuild, call_archive_retry, call_archive_status, call_archive_verify,
    call_backup, call_doctor, call_export,
};
use super::super::entry::{archivist, route};
use super::super::schema::{Number, Schemas};
use super::super::surface::{Bytes, Effect, Method, NoTool, Operation, Pace, Profile, Tool};
use crate::actor::Party;
use crate::archive::archivist::{AskStatus, Rebuild, Rebuilt, Retried, Retry, Verified, Verify};
use crate::archive::{ArchiveStatus, Export, Exported};
use crate::doctor::{Backup, BackupMade, Doctor, Findings};
use Effect::{Copies, Reads, Sets};
use Method::{Get, Post};
use NoTool::Person;
use Tool::Named;
use comity_domain::limits::REQUEST_BYTES_MAX;

/// Every operation of them, in the order of the documentation.
pub(super) const OPERATIONS: &[Operation] = &[
    archivist::<AskStatus, ArchiveStatus>("archive_status", Reads, call_archive_status)
        .http(&[route(Get, "/api/archive", &[])])
        .mcp(Tool::None(Person))
        .cli(&["archive status"]),
    archivist::<Verify, Verified>("archive_verify", Reads, call_archive_verify)
        .http(&[route(Post, "/api/archive/verify", &[])])
        .mcp(Tool::None(Person))
        .cli(&["archive verify"]),
    archivist::<Rebuild, Rebuilt>("archive_rebuild", Sets, call_archive_rebuild)
        .http(&[route(Post, "/api/archive/rebuild", &[])])
        .mcp(Tool::None(Person))
        .cli(&["archive rebuild"]),
    archivist::<Retry, Retried>("archive_retry", Sets, call_archive_retry)
        .http(&[route(Post, "/api/archive/retry", &[])])
        .mcp(Tool::None(Person))
        .cli(&["archive retry"]),
    Operation {
        name: "doctor",
        who: &[Party::Operator],
        effect: Reads,
        routes: &[route(Post, "/api/doctor", &[])],
        tool: Named("health", Profile::All),
        commands: &["doctor"],
        pace: Pace::Long,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call: call_doctor,
        describe: || Schemas::new::<Doctor, Findings>(Number::Own),
    },
    Operation {
        name: "backup",
        who: &[Party::Operator],
        effect: Copies,
        routes: &[route(Post, "/api/backup", &[])],
        tool: Tool::None(Person),
        commands: &["backup"],
        pace: Pace::Long,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call: call_backup,
        describe: || Schemas::new::<Backup, BackupMade>(Number::Own),
    },
    archivist::<Export, Exported>("export", Copies, call_export)
        .http(&[route(Post, "/api/export", &[])])
        .mcp(Tool::None(Person))
        .cli(&["export"]),
];
