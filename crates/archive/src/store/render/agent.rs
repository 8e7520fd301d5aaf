//! An agent's file.

use comity_domain::{AgentId, Timestamp};
use comity_kernel::agent::event::Profile;
use comity_kernel::archive::Batch;
use serde_json::json;

use super::{Content, pretty, slug};
use crate::store::place;

/// Renders an agent as it is, or was when it retired.
pub(super) fn file(
    batch: &Batch,
    id: AgentId,
    profile: &Profile,
    retired_at: Option<Timestamp>,
    reason: Option<&str>,
) -> (String, Content) {
    let person = batch.people.get(&id);
    let (name, project) = person.map_or(("unknown", "unknown"), |person| {
        (person.name.as_str(), slug(batch, person.project))
    });
    let shown = json!({
        "id": id,
        "name": name,
        "project": project,
        "profile": profile,
        "created_at": person.map(|person| person.created_at),
        "retired_at": retired_at,
        "retired_because": reason,
    });
    (place::agent(project, id, name), pretty(&shown))
}
