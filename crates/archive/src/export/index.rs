//! The first pages: what there is to read, who is there, and what is held.

use std::fmt::Write as _;

use comity_domain::Timestamp;
use comity_kernel::agent::ListAgents;
use comity_kernel::archive::export::Scope;
use comity_kernel::lock::ListLocks;
use comity_kernel::page::{After, Page};
use comity_kernel::project::ProjectRef;
use comity_kernel::query::Query;
use comity_kernel::reservation::ListReservations;
use comity_kernel::{Actor, Error, Kernel};

use super::escape::html;
use super::page::{FOOT, counted, head, pages, pages_of};
use super::site::Site;
use super::thread::{Summary, isolated, when};

/// Threads on one page.
const THREADS: usize = 500;

/// Rows of the tables of agents and leases; the others are counted.
const ROWS: usize = 5_000;

/// The form is hidden until the script is there to answer it.
const SEARCH: &str = "<form id=\"search\" role=\"search\" hidden>\n\
    <label for=\"query\">Search</label>\n\
    <input id=\"query\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\">\n\
    <p id=\"told\" class=\"about\" role=\"status\"></p>\n<ol id=\"found\"></ol>\n</form>\n\
    <script src=\"search.js\" defer></script>\n";

/// Says where a page of the index lies.
fn place(page: i64) -> String {
    match page {
        1 => "index.html".to_owned(),
        page => format!("index-{page}.html"),
    }
}

/// Writes the pages, newest thread first, and tells how many they are.
pub(super) fn write(
    site: &Site,
    kernel: &Kernel,
    (scope, at): (&Scope, Timestamp),
    (mut threads, runs): (Vec<Summary>, i64),
) -> Result<i64, Error> {
    threads.sort_by_key(|thread| std::cmp::Reverse((thread.last, thread.thread.id)));
    let messages = threads.iter().map(|thread| thread.thread.messages).sum();
    let count = i64::try_from(threads.len()).unwrap_or(i64::MAX);
    let last = pages_of(count, i64::try_from(THREADS).unwrap_or(i64::MAX));
    let mut chunks = threads.chunks(THREADS);
    for page in 1..=last {
        let mut sheet = site.file(&place(page))?;
        sheet.push(&head(&scope.name, ""))?;
        sheet.push(&format!(
            "<p class=\"about\">{} in {}, as of {}</p>\n{SEARCH}",
            counted(messages, "message"),
            counted(count, "thread"),
            when(at),
        ))?;
        if runs > 0 {
            let told = counted(runs, "run");
            sheet.push(&format!("<nav><a href=\"runs.html\">{told}</a></nav>\n"))?;
        }
        let links = pages(page, last, place);
        sheet.push(&format!(
            "<h2>Threads</h2>\n{links}<ul class=\"threads\">\n"
        ))?;
        for thread in chunks.next().unwrap_or_default() {
            sheet.push(&thread.line())?;
        }
        sheet.push(&format!("</ul>\n{links}"))?;
        if page == 1 {
            sheet.push(&agents(kernel, scope)?)?;
            sheet.push(&leases(kernel, scope)?)?;
        }
        sheet.push(FOOT)?;
        sheet.end()?;
    }
    Ok(last)
}

fn agents(kernel: &Kernel, scope: &Scope) -> Result<String, Error> {
    let agents = every(kernel, |after| {
        Ok(ListAgents {
            project: Some(named(scope)?),
            after,
            ..ListAgents::default()
        })
    })?;
    let rows = agents.iter().map(|seen| {
        let agent = &seen.agent;
        let runs = format!("{} · {}", agent.profile.program, agent.profile.model);
        [
            isolated(&agent.name),
            html(&runs),
            isolated(&agent.profile.task),
            when(seen.last_seen),
        ]
    });
    let names = ["Name", "Runs", "Task", "Last heard of"];
    Ok(table("Agents", names, rows.collect()))
}

fn leases(kernel: &Kernel, scope: &Scope) -> Result<String, Error> {
    let files = every(kernel, |after| {
        Ok(ListReservations {
            project: Some(named(scope)?),
            after,
            ..ListReservations::default()
        })
    })?;
    let locks = every(kernel, |after| {
        Ok(ListLocks {
            project: Some(named(scope)?),
            after,
            ..ListLocks::default()
        })
    })?;
    let row =
        |what: String, by: &str, why: &str, until| [what, isolated(by), isolated(why), when(until)];
    let files = files.iter().map(|lease| {
        let what = format!("<code>{}</code>", isolated(&lease.path_pattern));
        row(what, &lease.held_by, &lease.reason, lease.expires_at)
    });
    let locks = locks.iter().map(|lock| {
        let what = format!("lock {}", isolated(&lock.name));
        row(what, &lock.held_by, &lock.reason, lock.expires_at)
    });
    let names = ["What", "Held by", "Why", "Until"];
    Ok(table("Leases held", names, files.chain(locks).collect()))
}

/// Reads a whole list, page by page, as far as it is shown and a little further.
fn every<Q, T>(kernel: &Kernel, ask: impl Fn(After) -> Result<Q, Error>) -> Result<Vec<T>, Error>
where
    Q: Query<Answer = Page<T>>,
{
    let (mut items, mut after) = (Vec::new(), After::default());
    loop {
        let page = kernel.query(Actor::System, ask(after)?).wait()?.answer;
        items.extend(page.items);
        match page.next.and_then(|next| next.parse().ok()) {
            Some(next) if items.len() <= ROWS => after = After::item(next),
            _ => return Ok(items),
        }
    }
}

fn named(scope: &Scope) -> Result<ProjectRef, Error> {
    ProjectRef::parse(scope.slug.to_string()).map_err(|rule| Error::invalid("project", rule))
}

/// Writes a table of cells that are HTML already.
fn table<const N: usize>(title: &str, names: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut text = format!("<h2>{title}</h2>\n");
    if rows.is_empty() {
        text.push_str("<p class=\"about\">None.</p>\n");
        return text;
    }
    let heads = names.join("</th><th>");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<div class=\"wide\"><table>\n<tr><th>{heads}</th></tr>"
    );
    let more = rows.len() > ROWS;
    for row in rows.into_iter().take(ROWS) {
        let cells = row.join("</td><td>");
        let _ = writeln!(text, "<tr><td>{cells}</td></tr>");
    }
    text.push_str("</table></div>\n");
    if more {
        text.push_str("<p class=\"about\">And more.</p>\n");
    }
    text
}
