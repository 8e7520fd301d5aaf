//! `comity` alone: the fleet in ten lines.

use comity_kernel::Query as _;
use comity_kernel::agent::ListAgents;
use comity_kernel::project::{ListProjects, ProjectRef, ProjectStatusQuery};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::parse;
use crate::session::{Context, Session};
use crate::show::{Shown, View, ago, harmless};
use crate::who::Who;

/// Projects whose agents are looked at.
const PROJECTS_MAX: usize = 20;
/// Agents that are named; the whole is at most ten lines.
const AGENTS_MAX: usize = 4;

/// Shows the fleet.
pub(crate) fn run(context: &Context<'_>) -> Result<Shown, Failure> {
    if !context.directory.exists() && context.globals.url.is_none() {
        let text = "there is no data directory yet\nnext      comity init";
        let answer = json!({ "data": null, "next": "comity init" });
        return Ok(Shown::new(answer, View::Text(text.to_owned())));
    }
    let session = context.session()?;
    let projects = projects(&session)?;
    let agents = agents(&session, &projects)?;
    let leases = leases(&session, &projects)?;
    let server = session.door.server();
    let next = match (projects.is_empty(), agents.is_empty(), &server) {
        (true, _, _) => "comity init",
        (_, true, _) => "comity join --name NAME",
        (_, _, None) => "comity serve",
        (_, _, Some(_)) => "comity agent list",
    };
    let answer = json!({
        "server": server,
        "data": session.door.data().path(),
        "projects": projects,
        "agents": agents,
        "leases": leases,
        "next": next,
    });
    let text = for_people(&answer, &projects, &agents);
    Ok(Shown::new(answer, View::Text(text)))
}

/// The projects the caller sees: all for the operator, its own for an agent.
fn projects(session: &Session<'_>) -> Result<Vec<Value>, Failure> {
    match session.who {
        Who::Operator => {
            let answer = session.call(ListProjects::NAME, &ListProjects::default())?;
            Ok(items(&answer))
        }
        Who::Token(_) => {
            let request = ProjectStatusQuery::default();
            let answer = session.call(ProjectStatusQuery::NAME, &request)?;
            Ok(answer.get("project").cloned().into_iter().collect())
        }
    }
}

/// The agents of the projects, those heard of last first.
fn agents(session: &Session<'_>, projects: &[Value]) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    for project in projects.iter().take(PROJECTS_MAX) {
        let project = ProjectRef::parse(text(project, "key")).map_err(Failure::unusable)?;
        let request = ListAgents {
            project: Some(project),
            limit: parse::json("500").unwrap_or_default(),
            ..ListAgents::default()
        };
        found.extend(items(&session.call(ListAgents::NAME, &request)?));
    }
    found.sort_by(|a, b| text(b, "last_seen").cmp(text(a, "last_seen")));
    Ok(found)
}

/// Counts the leases on files of the projects.
fn leases(session: &Session<'_>, projects: &[Value]) -> Result<i64, Failure> {
    let mut count = 0;
    for project in projects.iter().take(PROJECTS_MAX) {
        let project = ProjectRef::parse(text(project, "key")).map_err(Failure::unusable)?;
        let request = ProjectStatusQuery {
            project: Some(project),
        };
        let status = session.call(ProjectStatusQuery::NAME, &request)?;
        let leases = status.get("leases").and_then(Value::as_i64);
        count += leases.unwrap_or_default();
    }
    Ok(count)
}

fn for_people(answer: &Value, projects: &[Value], agents: &[Value]) -> String {
    let server = answer.get("server").and_then(Value::as_str);
    let slugs = projects
        .iter()
        .map(|project| harmless(text(project, "slug")));
    let slugs: Vec<_> = slugs.take(PROJECTS_MAX).collect();
    let mut lines = vec![
        match server {
            Some(server) => format!("server    running, {}", harmless(server)),
            None => "server    not running".to_owned(),
        },
        format!("data      {}", harmless(text(answer, "data"))),
        format!("projects  {}", or_none(&slugs.join(", "))),
        format!("agents    {}", agents.len()),
    ];
    for agent in agents.iter().take(AGENTS_MAX) {
        let field = |name| harmless(text(agent, name)).into_owned();
        let (name, project, task) = (field("name"), field("project"), field("task"));
        let task: String = task.chars().take(40).collect();
        let seen = ago(text(agent, "last_seen"));
        lines.push(
            format!("  {name}  {project}  {seen}  {task}")
                .trim_end()
                .to_owned(),
        );
    }
    let leases = answer.get("leases").and_then(Value::as_i64);
    lines.push(format!("leases    {}", leases.unwrap_or_default()));
    lines.push(format!("next      {}", text(answer, "next")));
    lines.join("\n")
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn items(page: &Value) -> Vec<Value> {
    let items = page.get("items").and_then(Value::as_array);
    items.cloned().unwrap_or_default()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
