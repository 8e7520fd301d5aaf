//! `comity status` and `comity prime`.

use std::fmt::Write as _;

use clap::Args;
use comity_kernel::Query as _;
use comity_kernel::agent::Orient;
use serde_json::Value;

use crate::failure::Failure;
use crate::session::Context;
use crate::show::{Shown, View, harmless};

/// Shows how things stand.
#[derive(Args)]
pub(crate) struct Status {}

/// Says how things stand, for a model's context.
#[derive(Args)]
pub(crate) struct Prime {}

impl Status {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let Self {} = self;
        let answer = context.session()?.call(Orient::NAME, &Orient {})?;
        let text = for_people(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Prime {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let Self {} = self;
        let answer = context.session()?.call(Orient::NAME, &Orient {})?;
        let text = for_a_model(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Writes an orientation as lines.
pub(crate) fn for_people(orientation: &Value) -> String {
    let Said {
        name,
        project,
        task,
        others,
        unread,
        ack_pending,
    } = Said::of(orientation);
    format!(
        "you      {name}\nproject  {project}\ntask     {task}\nothers   {others}\n\
         unread   {unread}\nto ack   {ack_pending}"
    )
}

/// Characters of the task that a model is told: the rest is its own to look up.
const TASK_CHARS_MAX: usize = 1_000;

/// Writes an orientation as short Markdown.
fn for_a_model(orientation: &Value) -> String {
    let Said {
        name,
        project,
        task,
        others,
        unread,
        ack_pending,
    } = Said::of(orientation);
    let task: String = task.chars().take(TASK_CHARS_MAX).collect();
    let mut text = format!(
        "# Comity\n\nYou are agent `{name}` in project `{project}`, with {others} other agents.\n"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Your task: {task}\nIn your inbox: {unread} unread, {ack_pending} to acknowledge.\n\n## Rules\n"
    );
    let rules = orientation.get("rules").and_then(Value::as_array);
    for rule in rules.into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "- {}", harmless(rule));
    }
    let _ = write!(
        text,
        "\nCommands, each with `--as {name}`: `comity mail inbox --unread`, `comity mail send NAME --subject S --body B`, `comity mail ack ID`, `comity wait`, `comity agent list`; `--json` for programs."
    );
    text
}

struct Said {
    name: String,
    project: String,
    task: String,
    others: i64,
    unread: i64,
    ack_pending: i64,
}

impl Said {
    fn of(orientation: &Value) -> Self {
        let text = |field: &str| {
            let text = orientation.get(field).and_then(Value::as_str);
            match text.unwrap_or_default() {
                "" => "-".to_owned(),
                text => harmless(text).into_owned(),
            }
        };
        let count = |field: &str| {
            let count = orientation.get(field).and_then(Value::as_i64);
            count.unwrap_or_default()
        };
        Self {
            name: text("name"),
            project: text("project"),
            task: text("task"),
            others: count("others"),
            unread: count("unread"),
            ack_pending: count("ack_pending"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_model_is_told_who_it_is_in_few_words() {
        let orientation = json!({
            "name": "Blue", "project": "web", "task": format!("x\n# {}", "y".repeat(4_000)),
            "others": 2, "unread": 3, "ack_pending": 1, "rules": ["One rule."]
        });
        let text = for_a_model(&orientation);
        assert!(text.starts_with("# Comity\n\nYou are agent `Blue` in project `web`, with 2 "));
        assert!(text.contains("Your task: x\\n# yyy") && text.contains("\n- One rule.\n"));
        assert!(text.contains("In your inbox: 3 unread, 1 to acknowledge."));
        // A token is about four characters; the bound is 800 of them.
        assert!(text.len() < 2_400, "{}", text.len());
    }
}
