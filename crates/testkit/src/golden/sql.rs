//! A golden log as SQL, for a database of the schema that wrote it.

use serde_json::json;

use super::{Golden, Written};
use crate::Engine;

impl Golden {
    /// Writes the statements that fill a fresh database of the old schema with the old rows.
    pub fn rows_as_sql(&self, engine: Engine) -> String {
        let parents_first = [
            "project",
            "agent",
            "agent_capability",
            "token",
            "contact",
            "message",
            "recipient",
            "thread_member",
            "message_attachment",
            "run",
            "run_skip",
            "run_agent",
            "run_link",
            "artifact",
            "dispatch",
            "dispatch_dependency",
            "dispatch_queue",
            "verdict",
            "approval",
            "reservation",
            "release_request",
            "sentinel",
            "state_scope",
            "state_entry",
            "state_blob",
            "discovery",
            "discovery_feedback",
            "discovery_vector",
            "interest_profile",
            "stream",
            "stream_event",
            "consumer",
            "hook",
            "epoch",
            "redaction",
            "checkpoint",
        ];
        let known = |table: &String| parents_first.contains(&table.as_str());
        assert!(
            self.tables.keys().all(known),
            "a table whose place among its parents is not said"
        );
        let named = |name: &'static str| Some((name, self.tables.get(name)?));
        let rows = parents_first
            .into_iter()
            .filter_map(named)
            .flat_map(inserts)
            .map(|(table, columns, row)| {
                let values: Vec<_> = row.iter().map(|value| literal(value, engine)).collect();
                format!(
                    "insert into {table} ({columns}) values ({});\n",
                    values.join(", ")
                )
            });
        let words = self.words.iter();
        let words =
            words.map(|(id, words)| words_as_sql(["message", "message_id"], *id, words, engine));
        let found = self.discovery_words.iter();
        let found = found
            .map(|(id, words)| words_as_sql(["discovery", "discovery_id"], *id, words, engine));
        let events = self.events.iter().map(|event| event.as_sql(engine));
        let head = "update log_head set seq = (select max(seq) from event),
            hash = (select hash from event order by seq desc limit 1);\n";
        let rows = rows.chain(words).chain(found).chain(events);
        rows.chain([head.to_owned()]).collect()
    }
}

impl Written {
    fn as_sql(&self, engine: Engine) -> String {
        let hex = |text: &str| literal(&json!({ "hex": text }), engine);
        let values = [
            json!(self.seq),
            json!(self.at_us),
            json!(self.v),
            json!(self.kind),
            json!(self.project),
            json!(self.actor),
            json!(self.subject_type),
            json!(self.subject_id),
            json!(self.run),
            json!(self.correlation),
            json!(self.payload),
        ]
        .map(|value| literal(&value, engine));
        format!(
            "insert into event (seq, at, v, kind, project, actor, subject_type, subject_id,
                run, correlation, payload, payload_sha256, hash)
             values ({}, {}, {});\n",
            values.join(", "),
            hex(&self.payload_sha256),
            hex(&self.hash),
        )
    }
}

/// The row of the index of words, in the notation of either engine.
fn words_as_sql(
    [table, key]: [&str; 2],
    id: i64,
    [subject, body]: &[Vec<String>; 2],
    engine: Engine,
) -> String {
    if engine == Engine::Sqlite {
        let (subject, body) = (subject.join(" "), body.join(" "));
        return format!(
            "insert into {table}_text (rowid, subject, body) values ({id}, '{subject}', '{body}');\n"
        );
    }
    let subjects = subject.iter().zip(1..);
    let subjects = subjects.map(|(token, at)| format!("{token}:{at}A"));
    // A place stays free between the two.
    let bodies = body.iter().zip(subject.len() + 2..);
    let bodies = bodies.map(|(token, at)| format!("{token}:{at}"));
    let vector: Vec<_> = subjects.chain(bodies).collect();
    let vector = vector.join(" ");
    format!("insert into {table}_text ({key}, tokens) values ({id}, '{vector}');\n")
}

type Insert<'a> = (&'a str, String, Vec<serde_json::Value>);

/// The rows of one table: the first names its columns.
fn inserts<'a>((table, rows): (&'a str, &'a Vec<serde_json::Value>)) -> Vec<Insert<'a>> {
    let list = |row: &serde_json::Value| row.as_array().cloned().unwrap_or_default();
    let names = rows.first().map(list).unwrap_or_default();
    let names: Vec<_> = names.iter().filter_map(serde_json::Value::as_str).collect();
    // The database computes these itself.
    let computed = |name: &&str| (table, *name) == ("discovery", "tier");
    let written: Vec<_> = names.iter().map(|name| !computed(name)).collect();
    let columns: Vec<_> = names
        .iter()
        .filter(|name| !computed(name))
        .copied()
        .collect();
    let columns = columns.join(", ");
    let values = |row: &serde_json::Value| {
        let values = list(row).into_iter().zip(&written);
        let values = values.filter(|(_, written)| **written);
        values.map(|(value, _)| value).collect()
    };
    rows.iter()
        .skip(1)
        .map(|row| (table, columns.clone(), values(row)))
        .collect()
}

fn literal(value: &serde_json::Value, engine: Engine) -> String {
    match (value, engine) {
        (serde_json::Value::Null, _) => "null".to_owned(),
        (serde_json::Value::String(text), _) => format!("'{}'", text.replace('\'', "''")),
        (serde_json::Value::Object(blob), Engine::Sqlite) => {
            format!("x'{}'", blob["hex"].as_str().unwrap_or_default())
        }
        (serde_json::Value::Object(blob), Engine::Postgres) => {
            format!("'\\x{}'", blob["hex"].as_str().unwrap_or_default())
        }
        (number, _) => number.to_string(),
    }
}
