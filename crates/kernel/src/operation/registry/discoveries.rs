//! The operations on discoveries.

use crate::discovery::{
    Decay, DismissDiscovery, GetDiscovery, GetInterestProfile, GiveFeedback, ListDiscoveries,
    PromoteDiscovery, RollBackSource, ScoreDiscovery, ScoreFromProfile, SearchDiscoveries,
    SubmitDiscovery, UpdateInterestProfile,
};
use crate::operation::entry::{command, query, route};
use crate::operation::surface::{Effect, Method, NoTool, Operation, Profile, Tool};
use Effect::{Adds, Ends, Sets};
use Method::{Get, Patch, Post};
use NoTool::{Lean, Person};
use Tool::{In, Named};

/// Every operation on discoveries.
pub(super) const DISCOVERIES: &[Operation] = &[
    command::<SubmitDiscovery>(Sets)
        .http(&[route(Post, "/api/discoveries", &[])])
        .mcp(Named("submit_discovery", Profile::Research))
        .cli(&["discovery submit"]),
    query::<ListDiscoveries>()
        .http(&[route(Get, "/api/discoveries", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["discovery list"]),
    query::<SearchDiscoveries>()
        .http(&[route(Get, "/api/discoveries/search", &[])])
        .mcp(Named("search_discoveries", Profile::Research))
        .cli(&["discovery search"]),
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
        .cli(&["discovery score --from-profile"]),
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
        .cli(&["discovery profile --keywords"]),
];
