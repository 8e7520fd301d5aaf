//! The feeds in the `OpenAPI` document: no operations of the registry, so written by hand.

use comity_domain::limits::FRAME_BYTES_MAX;
use serde_json::{Value, json};

/// Describes both routes.
pub(crate) fn paths() -> [(&'static str, Value); 2] {
    [
        ("/api/events/stream", stream()),
        ("/ws/agents/{id}", socket()),
    ]
}

fn stream() -> Value {
    let place = json!({ "type": "integer", "minimum": 0 });
    json!({ "get": {
        "operationId": "events_stream",
        "summary": "Follows the log as server-sent events",
        "description": "Everything committed that the caller may see, in order: `id` is the sequence number, `event` the kind, `data` the event. Starts behind `since` or `Last-Event-ID`, or now. A comment every 15 s shows that it lives, and carries the number up to which everything was told.",
        "tags": ["events"],
        "parameters": [
            query("since", "The last event seen: a sequence number, exclusive.", &place),
            query("project", "Only events of this project: its key or slug.", &json!({ "type": "string" })),
            query("run", "Only events of this run.", &json!({ "type": "integer", "minimum": 1 })),
            query("kinds", "Only events of these kinds; `custom.*` means all of the callers' own.", &json!({ "type": "array", "items": { "type": "string" } })),
            query("subject", "Only events about this, such as `run:7`.", &json!({ "type": "string" })),
            query("actor", "Only what they did: `operator`, `system`, `agent:7`, or an agent's name or number.", &json!({ "type": "string" })),
            {
                "in": "header", "name": "Last-Event-ID", "required": false, "schema": place,
                "description": "What `since` says; both may say the same.",
            },
        ],
        "responses": responses(&json!({
            "200": {
                "description": "The stream.",
                "content": { "text/event-stream": { "schema": event() } },
            },
        })),
    } })
}

/// One event of the stream: what it carries is JSON inside a text.
fn event() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" }, "event": { "type": "string" }, "data": { "type": "string" },
        },
    })
}

fn socket() -> Value {
    let about = format!(
        "For the agent itself and the operator. The server says `{{\"type\":\"hello\",\"as_of_seq\":n}}`, then `{{\"type\":\"event\",…}}` for each event. The client may say `{{\"type\":\"subscribe\",\"since\":n}}` (answered by `subscribed`; what follows begins there) and `{{\"type\":\"ping\"}}` (answered by `pong`), in frames of at most {FRAME_BYTES_MAX} bytes."
    );
    json!({ "get": {
        "operationId": "events_socket",
        "summary": "Follows what an agent sees over a WebSocket",
        "description": about,
        "tags": ["events"],
        "parameters": [
            {
                "in": "path", "name": "id", "required": true, "schema": { "type": "string" },
                "description": "The agent's name or number.",
            },
            query("project", "The project's key or slug, where the agent is given by name.", &json!({ "type": "string" })),
        ],
        "responses": responses(&json!({ "101": { "description": "The connection is a WebSocket now." } })),
    } })
}

fn query(name: &str, about: &str, schema: &Value) -> Value {
    json!({ "in": "query", "name": name, "required": false, "description": about, "schema": schema })
}

fn responses(done: &Value) -> Value {
    let mut responses = done.clone();
    if let Value::Object(responses) = &mut responses {
        for status in [400, 401, 403, 404, 405, 410, 421, 422, 429, 500, 503] {
            let refusal = json!({ "$ref": format!("#/components/responses/{status}") });
            responses.insert(status.to_string(), refusal);
        }
    }
    responses
}
