//! Runs, gates, portfolios and dispatches.

use super::super::entry::{command, patient, query, route};
use super::super::surface::{Effect, Method, NoTool, Operation, Profile, Tool};
use crate::dispatch::{
    CancelDispatch, ClaimDispatch, CreateDispatch, ExtendDispatch, FinishDispatch, GetDispatch,
    GroupOutcome, ListDispatches, ReportDispatch, RetryDispatch, StartDispatch,
};
use crate::gate::{CheckGate, OverrideGate};
use crate::portfolio::{GetPortfolioStatus, LinkRuns, PortfolioOrder, UnlinkRuns};
use crate::run::{
    AddArtifact, AddRunAgent, AdvanceRun, Approve, CancelRun, CreateRun, CurrentRun, FailRun,
    FinishRunAgent, GetRunStatus, ListApprovals, ListArtifacts, ListRunAgents, ListRuns,
    ListVerdicts, PauseRun, RecordVerdict, ResumeRun, RollBackRun, RunAt, RunTimeline, SkipPhase,
    UpdateRun, WithdrawArtifact,
};
use Effect::{Adds, Ends, Sets, Takes};
use Method::{Delete, Get, Patch, Post};
use NoTool::{Lean, Person};
use Tool::{In, Named};

/// Every operation of them, in the order of the documentation.
pub(super) const OPERATIONS: &[Operation] = &[
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
];
