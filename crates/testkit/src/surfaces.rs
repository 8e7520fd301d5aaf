//! Writes `docs/surfaces.md` from the registry, so that the page cannot differ from the program.

use std::fmt::Write as _;

use comity_kernel::Party;
use comity_kernel::operation::{NoTool, OPERATIONS, Operation, Tool};
use serde_json::Value;

const HEAD: &str = "# Names on every surface

This page is generated from the registry of operations (`crates/kernel/src/operation/registry.rs`)
by `cargo run -q -p comity-testkit --bin surfaces`; a test fails when it differs.

Who may call: O operator, A agent in its project, a agent only for its own things, R agent with the
right `orchestrate`, V observer. A dash is a decision; its reason is one of: **op** (a person's job),
**in X** (part of another tool), **lean** (not worth an agent's context).

| operation | who | HTTP | MCP | CLI |
|---|---|---|---|---|
";

const TAIL: &str = "| health, metrics, openapi | anyone (details with a credential) | GET /health, /metrics, /api/openapi.json, /api/docs | - | health |

On the command line only: `call OPERATION JSON` (any operation), `serve`, `mcp`, `init`,
`restore --from-archive PATH`, `migrate --to URL`, `config explain`, `completions`, `man`, `guard install`, `guard uninstall`, `guard status`,
`archive sync` (archives what there is; a server does so by itself).

A length of time may be given as text (`\"30m\"`) or, in the field's twin that ends in `_s`, as whole
seconds. A write answers `seq`, the place of its effect in the log; a read answers `as_of_seq`.

";

/// Writes the page.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    for operation in OPERATIONS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            operation.name,
            who(operation),
            routes(operation),
            tool(operation),
            operation.commands.join("; ")
        );
    }
    page.push_str(TAIL);
    for operation in OPERATIONS {
        section(&mut page, operation);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn who(operation: &Operation) -> String {
    let letter = |party: &Party| match party {
        Party::Operator => "O",
        Party::Agent => "A",
        Party::Itself => "a",
        Party::Orchestrator => "R",
        Party::Observer => "V",
    };
    let letters: Vec<_> = operation.who.iter().map(letter).collect();
    letters.join(" ")
}

fn routes(operation: &Operation) -> String {
    let write = |route: &comity_kernel::operation::Route| {
        format!("{} {}", route.method.as_str(), route.path)
    };
    let routes: Vec<_> = operation.routes.iter().map(write).collect();
    routes.join("; ")
}

fn tool(operation: &Operation) -> String {
    match operation.tool {
        Tool::Named(name, profile) => format!("{name} ({})", profile.as_str()),
        Tool::In(name) => format!("in {name}"),
        Tool::None(NoTool::Person) => "op".to_owned(),
        Tool::None(NoTool::Lean) => "lean".to_owned(),
        Tool::None(NoTool::EveryCall) => "in every call".to_owned(),
    }
}

fn section(page: &mut String, operation: &Operation) {
    let schemas = operation.schemas();
    let _ = writeln!(page, "## {}\n\n{}\n", operation.name, schemas.about);
    let mut fields = schemas.fields().peekable();
    if fields.peek().is_none() {
        return;
    }
    page.push_str("| field | |\n|---|---|\n");
    let required = schemas.request.get("required").and_then(Value::as_array);
    for (name, field) in fields {
        let needed = required.is_some_and(|names| names.iter().any(|known| known == name));
        let mark = if needed { "" } else { "?" };
        let about = field.get("description").and_then(Value::as_str);
        let _ = writeln!(page, "| `{name}`{mark} | {} |", about.unwrap_or_default());
    }
    page.push('\n');
}
