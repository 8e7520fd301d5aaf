//! Leases on files, locks, sentinels and state.

use super::super::entry::{command, patient, query, route};
use super::super::surface::{Effect, Method, NoTool, Operation, Profile, Tool};
use crate::lock::{AcquireLock, ListLocks, ReleaseLock, RenewLock};
use crate::reservation::{
    AnswerRelease, CheckFiles, ForceRelease, GetReservation, GuardCheck, ListReservations, Release,
    Renew, RequestRelease, ReserveFiles,
};
use crate::sentinel::{ClaimSentinel, ResetSentinel};
use crate::state::{ClearState, DeleteState, ListScopes, ListState, LoadState, SaveState};
use Effect::{Ends, Sets};
use Method::{Delete, Get, Post, Put};
use NoTool::Lean;
use Tool::{In, Named};
use comity_domain::limits::STATE_REQUEST_BYTES_MAX;

/// Every operation of them, in the order of the documentation.
pub(super) const OPERATIONS: &[Operation] = &[
    patient::<ReserveFiles>(Sets)
        .http(&[route(Post, "/api/reservations", &[])])
        .mcp(Named("reserve_files", Profile::Core))
        .cli(&["reserve"]),
    query::<CheckFiles>()
        .http(&[
            route(Post, "/api/reservations/check", &[]),
            route(Get, "/api/reservations/check", &[]),
        ])
        .mcp(Named("check_files", Profile::Core))
        .cli(&["check"]),
    command::<Renew>(Sets)
        .http(&[
            route(Post, "/api/reservations/renew", &[]),
            route(Post, "/api/reservations/{id}/renew", &["ids"]),
        ])
        .mcp(In("reserve_files"))
        .cli(&["renew"]),
    command::<Release>(Ends)
        .http(&[
            route(Post, "/api/reservations/release", &[]),
            route(Delete, "/api/reservations/{id}", &["ids"]),
        ])
        .mcp(Named("release_files", Profile::Core))
        .cli(&["release"]),
    command::<ForceRelease>(Ends)
        .http(&[route(Post, "/api/reservations/{id}/force-release", &["id"])])
        .mcp(Tool::None(Lean))
        .cli(&["release --force"]),
    command::<RequestRelease>(Sets)
        .http(&[route(
            Post,
            "/api/reservations/{id}/release-requests",
            &["id"],
        )])
        .mcp(Named("request_release", Profile::All))
        .cli(&["ask-release"]),
    command::<AnswerRelease>(Sets)
        .http(&[route(Put, "/api/release-requests/{id}", &["id"])])
        .mcp(Named("answer_release", Profile::All))
        .cli(&["answer-release"]),
    query::<ListReservations>()
        .http(&[route(Get, "/api/reservations", &[])])
        .mcp(In("status"))
        .cli(&["leases"]),
    query::<GetReservation>()
        .http(&[route(Get, "/api/reservations/{id}", &["id"])])
        .mcp(In("status"))
        .cli(&["leases ID"]),
    query::<GuardCheck>()
        .http(&[route(Post, "/api/guard/check", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["guard check"]),
    patient::<AcquireLock>(Sets)
        .http(&[route(Post, "/api/locks", &[])])
        .mcp(Named("lock", Profile::Work))
        .cli(&["lock acquire"]),
    command::<RenewLock>(Sets)
        .http(&[route(Post, "/api/locks/{name}/renew", &["name"])])
        .mcp(In("lock"))
        .cli(&["lock renew"]),
    command::<ReleaseLock>(Ends)
        .http(&[route(Delete, "/api/locks/{name}", &["name"])])
        .mcp(Named("unlock", Profile::Work))
        .cli(&["lock release"]),
    query::<ListLocks>()
        .http(&[route(Get, "/api/locks", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["lock list"]),
    command::<ClaimSentinel>(Sets)
        .http(&[route(Post, "/api/sentinels/{name}/claim", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["sentinel claim"]),
    command::<ResetSentinel>(Sets)
        .http(&[route(Delete, "/api/sentinels/{name}", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["sentinel reset"]),
    command::<SaveState>(Sets)
        .http(&[route(Put, "/api/state/{scope}/{key}", &["scope", "key"])])
        .body(STATE_REQUEST_BYTES_MAX)
        .mcp(Named("save_state", Profile::Work))
        .cli(&["state set"]),
    query::<LoadState>()
        .http(&[route(Get, "/api/state/{scope}/{key}", &["scope", "key"])])
        .mcp(Named("load_state", Profile::Work))
        .cli(&["state get"]),
    command::<DeleteState>(Ends)
        .http(&[route(Delete, "/api/state/{scope}/{key}", &["scope", "key"])])
        .mcp(Tool::None(Lean))
        .cli(&["state delete"]),
    query::<ListState>()
        .http(&[route(Get, "/api/state/{scope}", &["scope"])])
        .mcp(Tool::None(Lean))
        .cli(&["state list"]),
    command::<ClearState>(Ends)
        .http(&[route(Delete, "/api/state/{scope}", &["scope"])])
        .mcp(Tool::None(Lean))
        .cli(&["state clear"]),
    query::<ListScopes>()
        .http(&[route(Get, "/api/state", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["state scopes"]),
];
