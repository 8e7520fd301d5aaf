//! `comity status` and `comity prime`.

use std::fmt::Write as _;

use clap::Args;
use comity_kernel::Query as _;
use comity_kernel::agent::Orient;
use serde_json::Value;

use crate::failure::Failure;
use crate::session::Context;
use crate::show::{Shown, View, field, harmless, length};

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
        leases_held,
        leases,
        run,
        work,
    } = Said::of(orientation);
    let mut text = format!(
        "you      {name}\nproject  {project}\ntask     {task}\nothers   {others}\n\
         unread   {unread}\nto ack   {ack_pending}\nholds    {leases_held}"
    );
    for lease in &leases {
        text.push_str("\n  ");
        text.push_str(lease);
    }
    if let Some(run) = run {
        let _ = write!(text, "\nrun      {run}");
    }
    for work in work {
        let _ = write!(text, "\nwork     {work}");
    }
    text
}

/// Characters of the task that a model is told: the rest is its own to look up.
const TASK_CHARS_MAX: usize = 1_000;
/// Leases that a model is told one by one.
const LEASES_TOLD_MAX: usize = 5;
/// Characters of a path that are told.
const PATH_CHARS_MAX: usize = 60;

/// Writes an orientation as short Markdown.
fn for_a_model(orientation: &Value) -> String {
    let Said {
        name,
        project,
        task,
        others,
        unread,
        ack_pending,
        leases_held,
        leases,
        run,
        work,
    } = Said::of(orientation);
    let task: String = task.chars().take(TASK_CHARS_MAX).collect();
    let mut text = format!(
        "# Comity\n\nYou are agent `{name}` in project `{project}`, with {others} other agents.\n"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Your task: {task}\nIn your inbox: {unread} unread, {ack_pending} to acknowledge."
    );
    let shown: Vec<_> = leases.into_iter().take(LEASES_TOLD_MAX).collect();
    let shown = shown.join("; ");
    let _ = match (leases_held, shown.as_str()) {
        (0, _) => writeln!(text, "You hold no leases."),
        (held, "") => writeln!(text, "You hold {held} locks."),
        (held, shown) => writeln!(text, "You hold {held} leases; these end first: {shown}."),
    };
    if let Some(run) = run {
        let _ = writeln!(text, "The project is at run {run}.");
    }
    let work: Vec<_> = work.into_iter().take(LEASES_TOLD_MAX).collect();
    if !work.is_empty() {
        let _ = writeln!(text, "You claimed: {}.", work.join("; "));
    }
    let _ = writeln!(text, "\n## Rules\n");
    let rules = orientation.get("rules").and_then(Value::as_array);
    for rule in rules.into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "- {}", harmless(rule));
    }
    let _ = write!(
        text,
        "\nCommands, each with `--as {name}`: `comity mail inbox --unread`, `comity mail send NAME --subject S --body B`, `comity mail ack ID`, `comity wait`, `comity agent list`, `comity reserve PATH --reason R`, `comity check PATH`, `comity release PATH`, `comity leases`; `--json` for programs."
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
    leases_held: i64,
    /// The leases on files that end first, in few words each.
    leases: Vec<String>,
    /// The run that the project is at.
    run: Option<String>,
    /// The dispatches in hand whose claims end first.
    work: Vec<String>,
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
            leases_held: count("leases_held"),
            leases: leases(orientation),
            run: orientation
                .get("run")
                .filter(|run| run.is_object())
                .map(run),
            work: work(orientation),
        }
    }
}

fn leases(orientation: &Value) -> Vec<String> {
    let leases = orientation.get("leases").and_then(Value::as_array);
    let in_short = |lease: &Value| {
        let path = field(lease, "path_pattern");
        let mut letters = path.chars();
        let mut path: String = letters.by_ref().take(PATH_CHARS_MAX).collect();
        path.extend(letters.next().map(|_| '…'));
        let left_ms = lease.get("ttl_remaining_ms").and_then(Value::as_i64);
        let left = length(left_ms.unwrap_or_default());
        let mode = match lease.get("exclusive") {
            Some(Value::Bool(false)) => ", shared",
            _ => "",
        };
        format!("{}  {path}  {left}{mode}", field(lease, "id"))
    };
    leases.into_iter().flatten().map(in_short).collect()
}

fn run(run: &Value) -> String {
    let [id, phase, state, goal] = ["id", "phase", "state", "goal"].map(|name| field(run, name));
    format!("{id}, {state} in {phase}: {goal}")
}

fn work(orientation: &Value) -> Vec<String> {
    let work = orientation.get("work").and_then(Value::as_array);
    let in_short = |one: &Value| {
        let left_ms = one.get("claim_remaining_ms").and_then(Value::as_i64);
        let left = length(left_ms.unwrap_or_default());
        let [id, kind, fence] = ["id", "agent_kind", "fence"].map(|name| field(one, name));
        format!("dispatch {id} ({kind}), fence {fence}, {left}")
    };
    work.into_iter().flatten().map(in_short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_model_is_told_who_it_is_in_few_words() {
        let lease = json!({
            "id": 7, "path_pattern": "p".repeat(500), "exclusive": true, "fence": 3,
            "ttl_remaining_ms": 1_740_000
        });
        let orientation = json!({
            "name": "Blue", "project": "web", "task": format!("x\n# {}", "y".repeat(4_000)),
            "others": 2, "unread": 3, "ack_pending": 1, "rules": ["One rule."],
            "leases_held": 12, "leases": vec![lease; 10]
        });
        let text = for_a_model(&orientation);
        assert!(text.starts_with("# Comity\n\nYou are agent `Blue` in project `web`, with 2 "));
        assert!(text.contains("Your task: x\\n# yyy") && text.contains("\n- One rule.\n"));
        assert!(text.contains("In your inbox: 3 unread, 1 to acknowledge."));
        let told = format!(
            "You hold 12 leases; these end first: 7  {}…  29m; 7  pp",
            "p".repeat(60)
        );
        assert!(text.contains(&told), "{text}");
        // A token is about four characters; the bound is 800 of them, and the rules take 150.
        assert!(text.len() < 2_500, "{}", text.len());
    }
}
