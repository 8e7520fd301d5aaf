//! Every operation, on one page.

use comity_domain::limits::{REQUEST_BYTES_MAX, STATE_REQUEST_BYTES_MAX};

use super::call::{
    call_archive_rebuild, call_archive_retry, call_archive_status, call_archive_verify,
    call_backup, call_doctor, call_export, call_poll,
};
use super::entry::{archivist, command, patient, query, route, waiting};
use super::schema::{Number, Schemas};
use super::surface::{Bytes, Effect, Method, NoTool, Operation, Pace, Profile, Tool};
use crate::actor::Party;
use crate::agent::{
    GetAgent, Heartbeat, ListAgents, Orient, RegisterAgent, RetireAgent, RotateToken, UpdateAgent,
};
use crate::archive::archivist::{AskStatus, Rebuild, Rebuilt, Retried, Retry, Verified, Verify};
use crate::archive::{ArchiveStatus, Export, Exported};
use crate::consumer::{AckConsumer, ListConsumers, PollConsumer, RegisterConsumer, ResetConsumer};
use crate::contact::{AnswerContact, ListContacts, RequestContact};
use crate::discovery::{
    Decay, DismissDiscovery, GetDiscovery, GetInterestProfile, GiveFeedback, ListDiscoveries,
    PromoteDiscovery, RollBackSource, ScoreDiscovery, ScoreFromProfile, SubmitDiscovery,
    UpdateInterestProfile,
};
use crate::dispatch::{
    CancelDispatch, ClaimDispatch, CreateDispatch, ExtendDispatch, FinishDispatch, GetDispatch,
    GroupOutcome, ListDispatches, ReportDispatch, RetryDispatch, StartDispatch,
};
use crate::doctor::{Backup, BackupMade, Doctor, Findings};
use crate::error::Error;
use crate::event::Events;
use crate::gate::{CheckGate, OverrideGate};
use crate::hook::{AddHook, DeadLetters, ListHooks, RemoveHook, RetryDeadLetter};
use crate::lock::{AcquireLock, ListLocks, ReleaseLock, RenewLock};
use crate::mail::{
    Acknowledge, Forward, GetAttachment, GetMessage, Inbox, OverdueAcks, PutAttachment,
    ReadMessages, Reply, Search, SendMessage, Thread, ThreadSummary, Threads,
};
use crate::portfolio::{GetPortfolioStatus, LinkRuns, PortfolioOrder, UnlinkRuns};
use crate::project::{EnsureProject, ListProjects, ProjectStatusQuery, UpdateProject};
use crate::redaction::RedactEvent;
use crate::reservation::{
    AnswerRelease, CheckFiles, ForceRelease, GetReservation, GuardCheck, ListReservations, Release,
    Renew, RequestRelease, ReserveFiles,
};
use crate::run::{
    AddArtifact, AddRunAgent, AdvanceRun, Approve, CancelRun, CreateRun, CurrentRun, FailRun,
    FinishRunAgent, GetRunStatus, ListApprovals, ListArtifacts, ListRunAgents, ListRuns,
    ListVerdicts, PauseRun, RecordVerdict, ResumeRun, RollBackRun, RunAt, RunTimeline, SkipPhase,
    UpdateRun, WithdrawArtifact,
};
use crate::sentinel::{ClaimSentinel, ResetSentinel};
use crate::state::{ClearState, DeleteState, ListScopes, ListState, LoadState, SaveState};
use crate::stream::{AppendEvent, ReadStream};
use crate::token::{CreateToken, ListTokens, RevokeToken};
use Effect::{Adds, Ends, Reads, Sets, Takes};
use Method::{Delete, Get, Patch, Post, Put};
use NoTool::{EveryCall, Lean, Person};
use Tool::{In, Named};

/// Every operation of the kernel, in the order of the documentation.
pub const OPERATIONS: &[Operation] = &[
    command::<EnsureProject>(Sets)
        .http(&[route(Post, "/api/projects", &[])])
        .mcp(In("join"))
        .cli(&["project ensure"]),
    command::<UpdateProject>(Sets)
        .http(&[route(Patch, "/api/projects/{project}", &["project"])])
        .mcp(Tool::None(Person))
        .cli(&["project update"]),
    query::<ListProjects>()
        .http(&[route(Get, "/api/projects", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["project list"]),
    query::<ProjectStatusQuery>()
        .http(&[route(Get, "/api/projects/{project}", &["project"])])
        .mcp(Tool::None(Lean))
        .cli(&["project status"]),
    command::<CreateToken>(Adds)
        .http(&[route(Post, "/api/tokens", &[])])
        .mcp(Tool::None(Person))
        .cli(&["token create"]),
    query::<ListTokens>()
        .http(&[route(Get, "/api/tokens", &[])])
        .mcp(Tool::None(Person))
        .cli(&["token list"]),
    command::<RevokeToken>(Ends)
        .http(&[route(Delete, "/api/tokens/{id}", &["id"])])
        .mcp(Tool::None(Person))
        .cli(&["token revoke"]),
    command::<RegisterAgent>(Sets)
        .http(&[route(Post, "/api/agents", &[])])
        .mcp(Named("join", Profile::Core))
        .cli(&["agent register", "join"]),
    query::<Orient>()
        .http(&[route(Get, "/api/orient", &[])])
        .mcp(Named("status", Profile::Core))
        .cli(&["status", "prime"]),
    query::<ListAgents>()
        .http(&[route(Get, "/api/agents", &[])])
        .mcp(Named("list_agents", Profile::Core))
        .cli(&["agent list"]),
    query::<GetAgent>()
        .http(&[route(Get, "/api/agents/{id}", &["agent"])])
        .mcp(In("list_agents"))
        .cli(&["agent show"]),
    // It writes to memory alone, so the kernel answers it like a read.
    Operation {
        effect: Sets,
        ..query::<Heartbeat>()
    }
    .http(&[route(Post, "/api/agents/{id}/heartbeat", &["agent"])])
    .mcp(Tool::None(EveryCall))
    .cli(&["agent heartbeat"]),
    command::<UpdateAgent>(Sets)
        .http(&[route(Patch, "/api/agents/{id}", &["agent"])])
        .mcp(Tool::None(Lean))
        .cli(&["agent update"]),
    command::<RotateToken>(Adds)
        .http(&[route(Post, "/api/agents/{id}/token", &["agent"])])
        .mcp(Tool::None(Lean))
        .cli(&["agent rotate-token"]),
    command::<RetireAgent>(Ends)
        .http(&[route(Delete, "/api/agents/{id}", &["agent"])])
        .mcp(Tool::None(Person))
        .cli(&["agent retire"]),
    command::<RequestContact>(Sets)
        .http(&[route(Post, "/api/contacts", &[])])
        .mcp(In("contacts"))
        .cli(&["contact request"]),
    command::<AnswerContact>(Sets)
        .http(&[route(Put, "/api/contacts/{id}", &["id"])])
        .mcp(In("contacts"))
        .cli(&["contact answer"]),
    query::<ListContacts>()
        .http(&[route(Get, "/api/contacts", &[])])
        .mcp(Named("contacts", Profile::All))
        .cli(&["contact list"]),
    command::<SendMessage>(Adds)
        .http(&[route(Post, "/api/messages", &[])])
        .mcp(Named("send_message", Profile::Core))
        .cli(&["mail send"]),
    command::<Reply>(Adds)
        .http(&[route(Post, "/api/messages/{id}/reply", &["id"])])
        .mcp(In("send_message"))
        .cli(&["mail reply"]),
    command::<Forward>(Adds)
        .http(&[route(Post, "/api/messages/{id}/forward", &["id"])])
        .mcp(In("send_message"))
        .cli(&["mail forward"]),
    waiting::<Inbox>()
        .http(&[route(Get, "/api/inbox/{agent}", &["agent"])])
        .mcp(Named("inbox", Profile::Core))
        .cli(&["mail inbox", "wait"]),
    query::<GetMessage>()
        .http(&[route(Get, "/api/messages/{id}", &["id"])])
        .mcp(In("thread"))
        .cli(&["mail show"]),
    command::<ReadMessages>(Sets)
        .http(&[
            route(Post, "/api/messages/read", &[]),
            route(Post, "/api/messages/{id}/read", &["ids"]),
        ])
        .mcp(In("acknowledge"))
        .cli(&["mail read"]),
    command::<Acknowledge>(Sets)
        .http(&[
            route(Post, "/api/messages/ack", &[]),
            route(Post, "/api/messages/{id}/ack", &["ids"]),
        ])
        .mcp(Named("acknowledge", Profile::Core))
        .cli(&["mail ack"]),
    query::<Threads>()
        .http(&[route(Get, "/api/threads", &[])])
        .mcp(In("thread"))
        .cli(&["mail threads"]),
    query::<Thread>()
        .http(&[route(Get, "/api/threads/{id}", &["id"])])
        .mcp(Named("thread", Profile::Core))
        .cli(&["mail thread"]),
    query::<ThreadSummary>()
        .http(&[route(Get, "/api/threads/{id}/summary", &["id"])])
        .mcp(In("thread"))
        .cli(&["mail summary"]),
    query::<OverdueAcks>()
        .http(&[route(Get, "/api/acks/overdue", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["mail overdue"]),
    Operation {
        bytes: Bytes::Request("content"),
        ..command::<PutAttachment>(Sets)
    }
    .http(&[route(Post, "/api/attachments", &[])])
    .mcp(Tool::None(Lean))
    .cli(&["mail attach"]),
    Operation {
        bytes: Bytes::Answer("content"),
        ..query::<GetAttachment>()
    }
    .http(&[route(Get, "/api/attachments/{sha256}", &["sha256"])])
    .mcp(Tool::None(Lean))
    .cli(&["mail fetch"]),
    query::<Search>()
        .http(&[route(Get, "/api/search", &[])])
        .mcp(Named("search", Profile::Core))
        .cli(&["search"]),
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
    command::<AddHook>(Adds)
        .http(&[route(Post, "/api/hooks", &[])])
        .mcp(Tool::None(Person))
        .cli(&["events hook add"]),
    query::<ListHooks>()
        .http(&[route(Get, "/api/hooks", &[])])
        .mcp(Tool::None(Person))
        .cli(&["events hook list"]),
    command::<RemoveHook>(Ends)
        .http(&[route(Delete, "/api/hooks/{id}", &["id"])])
        .mcp(Tool::None(Person))
        .cli(&["events hook remove"]),
    query::<DeadLetters>()
        .http(&[route(Get, "/api/hooks/{id}/dead-letters", &["hook"])])
        .mcp(Tool::None(Person))
        .cli(&["events hook dead-letters"]),
    command::<RetryDeadLetter>(Adds)
        .http(&[route(
            Post,
            "/api/hooks/{id}/dead-letters/{seq}/retry",
            &["hook", "seq"],
        )])
        .mcp(Tool::None(Person))
        .cli(&["events hook retry"]),
    command::<CreateRun>(Adds)
        .http(&[route(Post, "/api/runs", &[])])
        .mcp(Named("create_run", Profile::Orchestrate))
        .cli(&["run create"]),
    query::<ListRuns>()
        .http(&[route(Get, "/api/runs", &[])])
        .mcp(In("run_status"))
        .cli(&["run list"]),
    query::<GetRunStatus>()
        .http(&[route(Get, "/api/runs/{id}", &["run"])])
        .mcp(Named("run_status", Profile::Work))
        .cli(&["run status"]),
    query::<CurrentRun>()
        .http(&[route(Get, "/api/projects/{project}/run", &["project"])])
        .mcp(In("run_status"))
        .cli(&["run current"]),
    query::<RunTimeline>()
        .http(&[route(Get, "/api/runs/{id}/timeline", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run timeline"]),
    query::<RunAt>()
        .http(&[route(Get, "/api/runs/{id}/at/{seq}", &["run", "seq"])])
        .mcp(Tool::None(Lean))
        .cli(&["run status --at"]),
    command::<AdvanceRun>(Adds)
        .http(&[route(Post, "/api/runs/{id}/advance", &["run"])])
        .mcp(Named("advance_run", Profile::Orchestrate))
        .cli(&["run advance"]),
    query::<CheckGate>()
        .http(&[route(Get, "/api/runs/{id}/gate", &["run"])])
        .mcp(Named("check_gate", Profile::Orchestrate))
        .cli(&["gate check"]),
    command::<OverrideGate>(Adds)
        .http(&[route(Post, "/api/runs/{id}/gate/override", &["run"])])
        .mcp(Tool::None(Person))
        .cli(&["gate override"]),
    command::<SkipPhase>(Sets)
        .http(&[route(Post, "/api/runs/{id}/skip", &["run"])])
        .mcp(In("steer_run"))
        .cli(&["run skip"]),
    command::<RollBackRun>(Sets)
        .http(&[route(Post, "/api/runs/{id}/roll-back", &["run"])])
        .mcp(In("steer_run"))
        .cli(&["run roll-back"]),
    command::<PauseRun>(Sets)
        .http(&[route(Post, "/api/runs/{id}/pause", &["run"])])
        .mcp(In("steer_run"))
        .cli(&["run pause"]),
    command::<ResumeRun>(Sets)
        .http(&[route(Post, "/api/runs/{id}/resume", &["run"])])
        .mcp(In("steer_run"))
        .cli(&["run resume"]),
    command::<CancelRun>(Ends)
        .http(&[route(Post, "/api/runs/{id}/cancel", &["run"])])
        .mcp(Named("steer_run", Profile::Orchestrate))
        .cli(&["run cancel"]),
    command::<FailRun>(Ends)
        .http(&[route(Post, "/api/runs/{id}/fail", &["run"])])
        .mcp(In("steer_run"))
        .cli(&["run fail"]),
    command::<UpdateRun>(Sets)
        .http(&[route(Patch, "/api/runs/{id}", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run update"]),
    command::<AddArtifact>(Adds)
        .http(&[route(Post, "/api/runs/{id}/artifacts", &["run"])])
        .mcp(Named("add_artifact", Profile::Work))
        .cli(&["run artifact add"]),
    query::<ListArtifacts>()
        .http(&[route(Get, "/api/runs/{id}/artifacts", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run artifact list"]),
    command::<WithdrawArtifact>(Ends)
        .http(&[route(
            Delete,
            "/api/runs/{id}/artifacts/{artifact}",
            &["run", "artifact"],
        )])
        .mcp(Tool::None(Lean))
        .cli(&["run artifact withdraw"]),
    command::<AddRunAgent>(Sets)
        .http(&[route(Post, "/api/runs/{id}/agents", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run agent add"]),
    query::<ListRunAgents>()
        .http(&[route(Get, "/api/runs/{id}/agents", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run agent list"]),
    command::<FinishRunAgent>(Sets)
        .http(&[route(
            Post,
            "/api/runs/{id}/agents/{agent}/finish",
            &["run", "agent"],
        )])
        .mcp(Tool::None(Lean))
        .cli(&["run agent finish"]),
    command::<RecordVerdict>(Adds)
        .http(&[route(Post, "/api/runs/{id}/verdicts", &["run"])])
        .mcp(Named("record_verdict", Profile::Work))
        .cli(&["run verdict"]),
    query::<ListVerdicts>()
        .http(&[route(Get, "/api/runs/{id}/verdicts", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run verdicts"]),
    command::<Approve>(Adds)
        .http(&[route(Post, "/api/runs/{id}/approvals", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run approve"]),
    query::<ListApprovals>()
        .http(&[route(Get, "/api/runs/{id}/approvals", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["run approvals"]),
    command::<LinkRuns>(Adds)
        .http(&[route(Post, "/api/runs/{id}/links", &["downstream"])])
        .mcp(Tool::None(Lean))
        .cli(&["portfolio link"]),
    command::<UnlinkRuns>(Ends)
        .http(&[route(Delete, "/api/runs/{id}/links", &["downstream"])])
        .mcp(Tool::None(Lean))
        .cli(&["portfolio unlink"]),
    query::<PortfolioOrder>()
        .http(&[route(Get, "/api/runs/{id}/portfolio/order", &["run"])])
        .mcp(Tool::None(Lean))
        .cli(&["portfolio order"]),
    query::<GetPortfolioStatus>()
        .http(&[route(Get, "/api/runs/{id}/portfolio", &["run"])])
        .mcp(Named("portfolio_status", Profile::Orchestrate))
        .cli(&["portfolio status"]),
    command::<CreateDispatch>(Adds)
        .http(&[route(Post, "/api/dispatches", &[])])
        .mcp(Named("create_dispatch", Profile::Orchestrate))
        .cli(&["dispatch create"]),
    query::<ListDispatches>()
        .http(&[route(Get, "/api/dispatches", &[])])
        .mcp(In("run_status"))
        .cli(&["dispatch list"]),
    query::<GetDispatch>()
        .http(&[route(Get, "/api/dispatches/{id}", &["id"])])
        .mcp(In("run_status"))
        .cli(&["dispatch status", "dispatch wait"]),
    query::<GroupOutcome>()
        .http(&[route(Get, "/api/dispatch-groups/{group}", &["group"])])
        .mcp(In("run_status"))
        .cli(&["dispatch group"]),
    patient::<ClaimDispatch>(Takes)
        .http(&[route(Post, "/api/dispatches/claim", &[])])
        .mcp(Named("claim_dispatch", Profile::Work))
        .cli(&["dispatch claim", "dispatch exec"]),
    command::<StartDispatch>(Sets)
        .http(&[route(Post, "/api/dispatches/{id}/start", &["id"])])
        .mcp(In("report_dispatch"))
        .cli(&["dispatch start"]),
    command::<ExtendDispatch>(Sets)
        .http(&[route(Post, "/api/dispatches/{id}/extend", &["id"])])
        .mcp(In("report_dispatch"))
        .cli(&["dispatch extend"]),
    command::<ReportDispatch>(Sets)
        .http(&[route(Post, "/api/dispatches/{id}/report", &["id"])])
        .mcp(Named("report_dispatch", Profile::Work))
        .cli(&["dispatch report"]),
    command::<FinishDispatch>(Ends)
        .http(&[route(Post, "/api/dispatches/{id}/finish", &["id"])])
        .mcp(Named("finish_dispatch", Profile::Work))
        .cli(&["dispatch finish"]),
    command::<CancelDispatch>(Ends)
        .http(&[route(Post, "/api/dispatches/{id}/cancel", &["id"])])
        .mcp(Tool::None(Lean))
        .cli(&["dispatch cancel"]),
    command::<RetryDispatch>(Sets)
        .http(&[route(Post, "/api/dispatches/{id}/retry", &["id"])])
        .mcp(Tool::None(Lean))
        .cli(&["dispatch retry"]),
    command::<SubmitDiscovery>(Sets)
        .http(&[route(Post, "/api/discoveries", &[])])
        .mcp(Named("submit_discovery", Profile::Research))
        .cli(&["discovery submit"]),
    query::<ListDiscoveries>()
        .http(&[route(Get, "/api/discoveries", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["discovery list"]),
    query::<GetDiscovery>()
        .http(&[route(Get, "/api/discoveries/{id}", &["id"])])
        .mcp(Tool::None(Lean))
        .cli(&["discovery show"]),
    command::<ScoreDiscovery>(Sets)
        .http(&[route(Post, "/api/discoveries/{id}/score", &["id"])])
        .mcp(Named("judge_discovery", Profile::Research))
        .cli(&["discovery score"]),
    command::<ScoreFromProfile>(Sets)
        .http(&[route(
            Post,
            "/api/discoveries/{id}/score-from-profile",
            &["id"],
        )])
        .mcp(In("judge_discovery"))
        .cli(&["discovery score"]),
    command::<PromoteDiscovery>(Ends)
        .http(&[route(Post, "/api/discoveries/{id}/promote", &["id"])])
        .mcp(In("judge_discovery"))
        .cli(&["discovery promote"]),
    command::<DismissDiscovery>(Ends)
        .http(&[route(Post, "/api/discoveries/{id}/dismiss", &["id"])])
        .mcp(In("judge_discovery"))
        .cli(&["discovery dismiss"]),
    command::<GiveFeedback>(Adds)
        .http(&[route(Post, "/api/discoveries/{id}/feedback", &["id"])])
        .mcp(In("judge_discovery"))
        .cli(&["discovery feedback"]),
    command::<Decay>(Sets)
        .http(&[route(Post, "/api/discoveries/decay", &[])])
        .mcp(Tool::None(Person))
        .cli(&["discovery decay"]),
    command::<RollBackSource>(Ends)
        .http(&[route(Post, "/api/discoveries/roll-back", &[])])
        .mcp(Tool::None(Person))
        .cli(&["discovery roll-back"]),
    query::<GetInterestProfile>()
        .http(&[route(Get, "/api/interest-profile", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["discovery profile"]),
    command::<UpdateInterestProfile>(Sets)
        .http(&[route(Patch, "/api/interest-profile", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["discovery profile"]),
    waiting::<Events>()
        .http(&[route(Get, "/api/events", &[])])
        .mcp(Named("events", Profile::Orchestrate))
        .cli(&["events list", "events tail"]),
    command::<RegisterConsumer>(Takes)
        .http(&[route(Post, "/api/consumers", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer add"]),
    query::<ListConsumers>()
        .http(&[route(Get, "/api/consumers", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer list"]),
    Operation {
        call: call_poll,
        ..waiting::<PollConsumer>()
    }
    .http(&[route(Get, "/api/consumers/{name}/poll", &["name"])])
    .mcp(Tool::None(Lean))
    .cli(&["events consumer poll"]),
    command::<AckConsumer>(Sets)
        .http(&[route(Post, "/api/consumers/{name}/ack", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer ack"]),
    command::<ResetConsumer>(Takes)
        .http(&[route(Post, "/api/consumers/{name}/reset", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer reset"]),
    command::<AppendEvent>(Adds)
        .http(&[route(Post, "/api/streams/{stream}", &["stream"])])
        .mcp(Tool::None(Lean))
        .cli(&["events append"]),
    query::<ReadStream>()
        .http(&[route(Get, "/api/streams/{stream}", &["stream"])])
        .mcp(Tool::None(Lean))
        .cli(&["events stream"]),
    command::<RedactEvent>(Ends)
        .http(&[route(Post, "/api/events/{seq}/redact", &["seq"])])
        .mcp(Tool::None(Person))
        .cli(&["events redact"]),
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
        effect: Adds,
        routes: &[route(Post, "/api/backup", &[])],
        tool: Tool::None(Person),
        commands: &["backup"],
        pace: Pace::Long,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call: call_backup,
        describe: || Schemas::new::<Backup, BackupMade>(Number::Own),
    },
    archivist::<Export, Exported>("export", Adds, call_export)
        .http(&[route(Post, "/api/export", &[])])
        .mcp(Tool::None(Person))
        .cli(&["export"]),
];

/// Finds an operation, or a name that is close.
pub fn find(name: &str) -> Result<&'static Operation, Error> {
    let found = OPERATIONS.iter().find(|operation| operation.name == name);
    found.ok_or_else(|| Error::NotFound {
        kind: "operation",
        name: name.to_owned(),
        near: comity_domain::suggest::nearest(name, OPERATIONS.iter().map(|known| known.name))
            .map(ToOwned::to_owned),
    })
}
