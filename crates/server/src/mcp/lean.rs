//! Core answers in few words: what an agent acts on, and nothing it can ask for later.

use serde_json::{Map, Value, json};

/// What a listed agent is worth knowing by.
const AGENT: [&str; 7] = [
    "id",
    "name",
    "program",
    "task",
    "status",
    "focus",
    "last_seen",
];

/// Shortens the answer of a core tool; others are answered whole.
pub(super) fn shortened(tool: &str, answer: Value) -> Value {
    match tool {
        "list_agents" => match answer.get("items").and_then(Value::as_array) {
            Some(items) => {
                let agents: Vec<_> = items.iter().map(|item| only(item, &AGENT)).collect();
                json!({ "agents": agents, "next": answer.get("next") })
            }
            None => answer,
        },
        _ => answer,
    }
}

/// Keeps the named fields that say something.
fn only(entity: &Value, names: &[&str]) -> Value {
    let says_something = |value: &&Value| !value.is_null() && *value != "";
    let field = |name: &&str| {
        let value = entity.get(*name).filter(says_something)?;
        Some(((*name).to_owned(), value.clone()))
    };
    Value::Object(names.iter().filter_map(field).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_agents_keeps_what_says_something() {
        let agent = json!({ "id": 1, "name": "Blue", "task": "", "metadata": { "a": 1 }, "last_seen": "now" });
        let page = json!({ "items": [agent], "next": null, "as_of_seq": 7 });
        let expected =
            json!({ "agents": [{ "id": 1, "name": "Blue", "last_seen": "now" }], "next": null });
        assert_eq!(shortened("list_agents", page), expected);
    }
}
