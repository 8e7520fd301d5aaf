//! Shows one dispatch.

use comity_domain::DispatchId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Dispatch};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Shows one dispatch, with its whole prompt and its result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
}

/// The dispatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchFound {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Query for GetDispatch {
    const NAME: &'static str = "get_dispatch";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = DispatchFound;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<DispatchFound, Error> {
        let dispatch = table::visible(snapshot, actor, self.id)?.shown;
        Ok(DispatchFound { dispatch })
    }
}
