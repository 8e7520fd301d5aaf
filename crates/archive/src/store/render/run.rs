//! The page of a run: how it stands, and what happened last.

use std::fmt::Write as _;

use comity_kernel::archive::Batch;
use comity_kernel::archive::run_page::{RUN_EVENTS_COUNTED, RunPage, RunThen, Told};

use super::{Content, File, name, one_line, push_quoted, slug};
use crate::store::place;

/// Renders the page of a run to which something happens.
pub(super) fn file(batch: &Batch, page: &RunPage) -> File {
    File {
        seq: page.through,
        path: place::run(slug(batch, page.run.project), page.run.id),
        content: Content::Bytes(page_text(batch, page).into_bytes()),
    }
}

/// Writes the page.
///
/// The goal stands in quotes, and what happened on a line of its own behind our words, so that
/// nothing in it passes for the page's own.
fn page_text(batch: &Batch, page: &RunPage) -> String {
    let run = &page.run;
    let mut text = format!("# Run {}\n\n", run.id);
    push_quoted(&mut text, &run.goal);
    text.push('\n');
    for line in head(batch, run) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {line}");
    }
    text.push_str("\n## What happened\n\n");
    let earlier = page.events - i64::try_from(page.last.len()).unwrap_or(i64::MAX);
    if earlier > 0 {
        let counted = match page.events {
            RUN_EVENTS_COUNTED => format!("{earlier} or more"),
            _ => earlier.to_string(),
        };
        let _ = writeln!(text, "Earlier events are in `log/`: {counted}.\n");
    }
    for told in &page.last {
        push_told(&mut text, batch, run, told);
    }
    text
}

fn head(batch: &Batch, run: &RunThen) -> Vec<String> {
    let mut lines = vec![format!("project: {}", slug(batch, run.project))];
    if let Some(parent) = run.parent {
        lines.push(format!("part of: run {parent}"));
    }
    let by = name(batch, run.project, run.by);
    lines.push(format!("created: {} by {by}", run.created_at));
    let phases = run.phases.phases().iter();
    let phases = phases.map(|phase| match phase {
        phase if *phase == run.phase => format!("**{phase}**"),
        phase => phase.to_string(),
    });
    let phases: Vec<_> = phases.collect();
    lines.push(format!("phases: {}", phases.join(", ")));
    lines.push(format!("phase: {}", run.phase));
    lines.push(format!("state: {}", run.state.as_str()));
    let enforced = if run.budget_enforced {
        ", enforced"
    } else {
        ""
    };
    lines.push(match run.token_budget {
        Some(tokens) => format!("budget: {tokens} tokens{enforced}"),
        None => "budget: none".to_owned(),
    });
    if let Some(most) = run.max_dispatches {
        lines.push(format!("dispatches in hand: at most {most}"));
    }
    for (kind, most) in &run.max_per_kind {
        lines.push(format!(
            "dispatches in hand for {}: at most {most}",
            one_line(kind)
        ));
    }
    lines
}

fn push_told(text: &mut String, batch: &Batch, run: &RunThen, told: &Told) {
    let who = match told.agent() {
        Some(agent) => name(batch, run.project, Some(agent)),
        None => told.party().to_owned(),
    };
    let more = match told.more {
        0 => String::new(),
        more => format!(" ({more} more characters are in the log)"),
    };
    let (seq, at, what) = (told.seq, told.at, one_line(&told.text));
    let _ = writeln!(text, "- {seq}, {at}, {who}: {what}{more}");
    for check in &told.failed {
        let _ = writeln!(text, "  - {}", one_line(check));
    }
}
