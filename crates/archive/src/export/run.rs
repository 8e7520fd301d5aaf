//! The pages of runs: what there are, and what happened to each.

use std::fmt::Write as _;

use comity_domain::RunId;
use comity_kernel::archive::export_runs::{ExportedRun, ExportedStep};

use super::escape::html;
use super::page::{counted, pages, pages_of};
use super::thread::{isolated, when};

/// Things that happened on one page.
pub(super) const STEPS: i64 = 500;

/// Runs on one page of the list.
pub(super) const RUNS: usize = 500;

/// Characters of a goal that a title has.
const TITLE_CHARS: usize = 80;

/// Says where a page of a run lies; it depends on numbers alone (S10).
pub(super) fn place(run: RunId, page: i64) -> String {
    match page {
        1 => format!("run-{run}.html"),
        page => format!("run-{run}-{page}.html"),
    }
}

/// Says where a page of the list of runs lies.
pub(super) fn list_place(page: i64) -> String {
    match page {
        1 => "runs.html".to_owned(),
        page => format!("runs-{page}.html"),
    }
}

/// Tells how many pages a run has: what was pruned cannot be shown.
pub(super) const fn pages_for(run: &ExportedRun) -> i64 {
    pages_of(run.events - run.pruned, STEPS)
}

/// Links a run's pages.
pub(super) fn links(run: &ExportedRun, page: i64) -> String {
    let last = pages_for(run);
    pages(page, last, |page| place(run.run.id, page))
}

/// Names a run: its number and the beginning of its goal.
pub(super) fn title(run: &ExportedRun) -> String {
    let goal = run
        .run
        .goal
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let mut short: String = goal.chars().take(TITLE_CHARS).collect();
    if short.len() < goal.len() {
        short.push('…');
    }
    format!("Run {}: {short}", run.run.id)
}

/// Writes its line of the list.
pub(super) fn line(run: &ExportedRun) -> String {
    format!(
        "<li><a href=\"{}\"><bdi>{}</bdi></a>\n<p class=\"about\">{} · {} · {} · {} by {}</p></li>\n",
        place(run.run.id, 1),
        html(&title(run)),
        html(&run.run.phase),
        html(run.run.state.as_str()),
        counted(run.events, "event"),
        when(run.run.created_at),
        isolated(&run.by),
    )
}

/// Writes the line of one that cannot be read.
pub(super) fn unreadable_line(id: RunId) -> String {
    format!("<li><bdi>Run {id}</bdi>\n<p class=\"about\">its events cannot be read</p></li>\n")
}

/// Writes how a run stands.
pub(super) fn head(run: &ExportedRun) -> String {
    let then = &run.run;
    let phases = then.phases.phases().iter().map(|phase| match phase {
        phase if *phase == then.phase => format!("<b>{}</b>", html(phase)),
        phase => html(phase),
    });
    let phases: Vec<_> = phases.collect();
    let mut text = format!(
        "<p class=\"about\">{} · {} · {} by {}",
        html(then.state.as_str()),
        phases.join(", "),
        when(then.created_at),
        isolated(&run.by),
    );
    // Writing to a string cannot fail.
    if let Some(parent) = then.parent {
        let _ = write!(text, " · part of run {parent}");
    }
    if let Some(budget) = then.token_budget {
        let enforced = if then.budget_enforced {
            ", enforced"
        } else {
            ""
        };
        let _ = write!(text, " · budget {budget} tokens{enforced}");
    }
    if run.pruned > 0 {
        let pruned = counted(run.pruned, "event");
        let _ = write!(text, " · its first {pruned}: in the archive alone");
    }
    let goal = html(&then.goal);
    let _ = write!(
        text,
        "</p>\n<pre class=\"body\" dir=\"auto\">\n{goal}</pre>\n"
    );
    text
}

/// Writes one thing that happened.
pub(super) fn step(step: &ExportedStep) -> String {
    let (seq, told) = (step.told.seq, &step.told);
    let more = match told.more {
        0 => String::new(),
        more => format!("\n({more} more characters are in the archive)"),
    };
    let mut text = format!(
        "<article id=\"e{seq}\">\n<p class=\"about\"><a href=\"#e{seq}\">{seq}</a> · {} · {}</p>\n\
         <pre class=\"body\" dir=\"auto\">\n{}{more}</pre>\n",
        when(told.at),
        isolated(&step.who),
        html(&told.text),
    );
    if !told.failed.is_empty() {
        let failed = told.failed.iter().map(|check| isolated(check));
        let failed: Vec<_> = failed.collect();
        let _ = writeln!(text, "<ul>\n<li>{}</li>\n</ul>", failed.join("</li>\n<li>"));
    }
    text.push_str("</article>\n");
    text
}
