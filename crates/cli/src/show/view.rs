//! An answer with the way people see it.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use super::ago::ago;
use super::harmless::{harmless, harmless_json};
use crate::failure::Failure;

/// Characters of one cell of a table; an entity shows the whole.
const CELL_CHARS_MAX: usize = 60;

/// What a command brings back.
pub(crate) struct Shown {
    /// The document that `--json` prints.
    pub(crate) answer: Value,
    /// How people see it.
    pub(crate) view: View,
    /// Why the answer is bad news, if it is.
    pub(crate) failure: Option<Failure>,
}

/// How people see an answer.
pub(crate) enum View {
    /// The answer's `items`, one per line.
    Table(&'static [Column]),
    /// The entity under this name, and what stands beside it.
    Entity(&'static str, &'static [Column]),
    /// Lines composed by the command.
    Text(String),
    /// Text of our own, as it is: scripts, pages.
    Raw(String),
    /// The document itself.
    Json,
}

/// Where the text goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A terminal: borders.
    Terminal,
    /// A pipe or a file: plain columns.
    Plain,
}

/// One thing to show of an item.
pub(crate) struct Column {
    /// The item's field.
    field: &'static str,
    kind: Kind,
}

enum Kind {
    Text,
    Time,
}

impl Column {
    /// Shows a field as it is.
    pub(crate) const fn text(field: &'static str) -> Self {
        let kind = Kind::Text;
        Self { field, kind }
    }

    /// Shows a field as a time.
    pub(crate) const fn time(field: &'static str) -> Self {
        let kind = Kind::Time;
        Self { field, kind }
    }
}

impl Shown {
    /// Shows a list.
    pub(crate) fn table(answer: Value, columns: &'static [Column]) -> Self {
        Self::new(answer, View::Table(columns))
    }

    /// Shows one thing.
    pub(crate) fn entity(answer: Value, name: &'static str, columns: &'static [Column]) -> Self {
        Self::new(answer, View::Entity(name, columns))
    }

    /// Shows an answer in a view.
    pub(crate) fn new(answer: Value, view: View) -> Self {
        Self {
            answer,
            view,
            failure: None,
        }
    }

    /// Writes it for programs: one document.
    pub(crate) fn document(&self) -> String {
        harmless_json(&serde_json::to_string_pretty(&self.answer).unwrap_or_default())
    }

    /// Writes it for people.
    pub(crate) fn render(&self, look: Look) -> String {
        match &self.view {
            View::Table(columns) => table(&self.answer, columns, look),
            View::Entity(name, columns) => entity(&self.answer, name, columns),
            View::Text(text) => {
                let lines: Vec<_> = text.lines().map(harmless).collect();
                lines.join("\n")
            }
            View::Raw(text) => text.trim_end().to_owned(),
            View::Json => self.document(),
        }
    }
}

fn table(answer: &Value, columns: &[Column], look: Look) -> String {
    let items = answer.get("items").and_then(Value::as_array);
    let items = items.map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        return "none".to_owned();
    }
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.load_preset(match look {
        Look::Terminal => presets::UTF8_FULL_CONDENSED,
        Look::Plain => presets::NOTHING,
    });
    table.set_header(columns.iter().map(|column| title(column.field)));
    for item in items {
        table.add_row(columns.iter().map(|column| {
            let text = match (&column.kind, item.get(column.field)) {
                (Kind::Time, Some(Value::String(time))) => ago(time),
                (_, value) => plain(value),
            };
            shortened(&harmless(&text))
        }));
    }
    if look == Look::Plain {
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
    }
    let lines: Vec<_> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let mut text = lines.join("\n");
    if let Some(next) = answer.get("next").and_then(Value::as_str) {
        text = format!("{text}\nmore with --after {}", harmless(next));
    }
    text
}

/// The chosen fields of the entity, then what the answer says beside it.
fn entity(answer: &Value, name: &str, columns: &[Column]) -> String {
    let entity = answer.get(name).unwrap_or(answer);
    let own = columns.iter().map(|column| {
        let text = match (&column.kind, entity.get(column.field)) {
            (Kind::Time, Some(Value::String(time))) => format!("{} ({time})", ago(time)),
            (_, value) => plain(value),
        };
        (column.field, text)
    });
    let beside = answer.as_object().into_iter().flatten();
    let beside = beside.filter(|(field, value)| {
        let number = matches!(field.as_str(), "seq" | "as_of_seq");
        *field != name && !number && !value.is_object() && !value.is_array()
    });
    let beside = beside.map(|(field, value)| (field.as_str(), plain(Some(value))));
    let rows: Vec<_> = own.chain(beside).collect();
    let width = rows.iter().map(|(field, _)| field.len()).max().unwrap_or(0);
    let line =
        |(field, text): &(&str, String)| format!("{:width$}  {}", title(field), harmless(text));
    let lines: Vec<_> = rows.iter().map(line).collect();
    lines.join("\n")
}

fn title(field: &str) -> String {
    harmless(field).replace('_', " ")
}

fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Array(values)) if values.is_empty() => "-".to_owned(),
        Some(Value::Array(values)) => {
            let words: Vec<_> = values.iter().map(|value| plain(Some(value))).collect();
            words.join(", ")
        }
        Some(other) => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= CELL_CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(CELL_CHARS_MAX - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COLUMNS: &[Column] = &[Column::text("name"), Column::text("task")];

    #[test]
    fn a_table_has_borders_on_a_terminal_only() {
        let answer = json!({ "items": [{ "name": "Blue", "task": "x\u{1b}[2J" }], "next": "7" });
        let shown = Shown::table(answer, COLUMNS);
        assert_eq!(
            shown.render(Look::Plain),
            "name  task\nBlue  x\\u{1b}[2J\nmore with --after 7"
        );
        let bordered = shown.render(Look::Terminal);
        assert!(bordered.contains("│ Blue ┆ x\\u{1b}[2J │"), "{bordered}");
        let none = Shown::table(json!({ "items": [] }), COLUMNS);
        assert_eq!(none.render(Look::Plain), "none");
    }

    #[test]
    fn an_entity_is_its_fields_and_what_stands_beside() {
        let answer = json!({
            "agent": { "name": "Blue", "task": "", "id": 1 },
            "created": true, "seq": 3, "token_file": "/x"
        });
        assert_eq!(
            Shown::entity(answer, "agent", COLUMNS).render(Look::Plain),
            "name        Blue\ntask        -\ncreated     yes\ntoken file  /x"
        );
    }
}
