//! Tools that are more than one operation, or say it in fewer words.
//!
//! Each has a request of its own, plans one operation from it, and shortens the answer. What others
//! wrote is set apart as data (S22).

mod acknowledge;
mod advance;
mod agents;
mod ask;
mod check;
mod contacts;
mod create_run;
mod discovery;
mod dispatch;
mod events;
mod evidence;
mod inbox;
mod lean;
mod lease;
mod lock;
mod portfolio;
mod release;
mod reserve;
mod run;
mod run_status;
mod search;
mod send;
mod state;
mod steer;
mod thread;
mod untrusted;
mod work;

use comity_domain::json;
use comity_kernel::Error;
use comity_kernel::operation::schema_of;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use untrusted::Marks;

/// A tool with a request of its own.
trait Own: JsonSchema + DeserializeOwned {
    /// The tool's name.
    const NAME: &'static str;

    /// Says which operation it is this time, and with which request.
    fn plan(self) -> Result<(&'static str, Value), Error>;

    /// Shortens the answer.
    fn lean(answer: Value, marks: &Marks) -> Value;
}

/// A tool with a request of its own, in a table.
#[derive(Clone, Copy)]
pub(super) struct OwnTool {
    /// Its name.
    pub(super) name: &'static str,
    /// The schema of its request, with its description.
    pub(super) schema: fn() -> Value,
    /// Says which operation it is this time.
    pub(super) plan: fn(Value) -> Result<(&'static str, Value), Error>,
    lean: fn(Value, &Marks) -> Value,
}

impl OwnTool {
    /// Shortens an answer of this tool.
    pub(super) fn shortened(&self, answer: Value) -> Value {
        (self.lean)(answer, &Marks::new())
    }
}

/// Shortens a refusal, of whichever tool.
pub(super) fn refusal(error: Value) -> Value {
    let marks = Marks::new();
    let error = discovery::refusal(error, &marks);
    run::refusal(lease::refusal(error, &marks), &marks)
}

const fn own<T: Own>() -> OwnTool {
    OwnTool {
        name: T::NAME,
        schema: schema_of::<T>,
        plan: |arguments| json::decode::<T>(arguments)?.plan(),
        lean: T::lean,
    }
}

/// Every tool with a request of its own.
const OWN: [OwnTool; 31] = [
    own::<agents::ListAgents>(),
    own::<send::SendMessage>(),
    own::<inbox::Inbox>(),
    own::<thread::Thread>(),
    own::<acknowledge::Acknowledge>(),
    own::<search::Search>(),
    own::<contacts::Contacts>(),
    own::<reserve::ReserveFiles>(),
    own::<check::CheckFiles>(),
    own::<release::ReleaseFiles>(),
    own::<lock::Lock>(),
    own::<lock::Unlock>(),
    own::<state::SaveState>(),
    own::<state::LoadState>(),
    own::<ask::RequestRelease>(),
    own::<ask::AnswerRelease>(),
    own::<run_status::RunStatus>(),
    own::<create_run::CreateRun>(),
    own::<advance::AdvanceRun>(),
    own::<advance::CheckGate>(),
    own::<steer::SteerRun>(),
    own::<evidence::AddArtifact>(),
    own::<evidence::RecordVerdict>(),
    own::<portfolio::PortfolioStatus>(),
    own::<work::CreateDispatch>(),
    own::<work::ClaimDispatch>(),
    own::<work::ReportDispatch>(),
    own::<work::FinishDispatch>(),
    own::<discovery::SubmitDiscovery>(),
    own::<discovery::JudgeDiscovery>(),
    own::<events::Events>(),
];

/// Finds a tool with a request of its own.
pub(super) fn find(name: &str) -> Option<OwnTool> {
    OWN.into_iter().find(|tool| tool.name == name)
}
