//! The pages of a thread.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use comity_domain::Timestamp;
use comity_kernel::archive::export::{ExportedMessage, ExportedThread};

use super::escape::html;
use super::page::{counted, pages, pages_of};

/// Messages on one page.
pub(super) const MESSAGES: i64 = 500;

/// Participants that are named; the others are counted.
const NAMED: usize = 20;

/// What the index says of a thread.
pub(super) struct Summary {
    pub(super) thread: ExportedThread,
    pub(super) people: BTreeSet<String>,
    /// When it began, and its newest message.
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
}

impl Summary {
    /// Begins one of which no message is known yet.
    pub(super) const fn of(thread: ExportedThread) -> Self {
        Self {
            thread,
            people: BTreeSet::new(),
            first: None,
            last: None,
        }
    }

    /// Takes a message in.
    pub(super) fn add(&mut self, message: &ExportedMessage) {
        let others = message.to.iter().chain(&message.cc);
        self.people.extend(others.chain([&message.from]).cloned());
        self.first.get_or_insert(message.at);
        self.last = Some(message.at);
    }

    /// Writes its line of the index.
    pub(super) fn line(&self) -> String {
        let mut people: Vec<_> = self
            .people
            .iter()
            .take(NAMED)
            .map(|it| isolated(it))
            .collect();
        if self.people.len() > NAMED {
            people.push(format!("and {} more", self.people.len() - NAMED));
        }
        let day = |time: Option<Timestamp>| time.map(when).unwrap_or_default();
        format!(
            "<li><a href=\"{}\"><bdi>{}</bdi></a>\n<p class=\"about\">{} · {} to {} · {}</p></li>\n",
            place(self.thread.id.get(), 1),
            html(&self.thread.subject),
            counted(self.thread.messages, "message"),
            day(self.first),
            day(self.last),
            people.join(", "),
        )
    }
}

/// Says where a page of a thread lies; it depends on numbers alone (S10).
pub(super) fn place(thread: i64, page: i64) -> String {
    match page {
        1 => format!("thread-{thread}.html"),
        page => format!("thread-{thread}-{page}.html"),
    }
}

/// Links a thread's pages.
pub(super) fn links(thread: &ExportedThread, page: i64) -> String {
    let last = pages_of(thread.messages, MESSAGES);
    pages(page, last, |page| place(thread.id.get(), page))
}

/// Writes a message.
pub(super) fn message(message: &ExportedMessage) -> String {
    let id = message.id;
    let mut text = format!(
        "<article id=\"m{id}\">\n<h2><a href=\"#m{id}\">{id}</a> <bdi>{}</bdi></h2>\n\
         <p class=\"about\">{} · from <b>{}</b>",
        html(&message.subject),
        when(message.at),
        isolated(&message.from),
    );
    // Writing to a string cannot fail.
    for (word, names) in [("to", &message.to), ("cc", &message.cc)] {
        if !names.is_empty() {
            let names: Vec<_> = names.iter().map(|name| isolated(name)).collect();
            let _ = write!(text, " · {word} {}", names.join(", "));
        }
    }
    if message.importance != "normal" {
        let _ = write!(text, " · {}", html(&message.importance));
    }
    if let Some(topic) = &message.topic {
        let _ = write!(text, " · topic {}", isolated(topic));
    }
    if let Some(answered) = message.reply_to {
        let _ = write!(text, " · answers {answered}");
    }
    let _ = write!(
        text,
        "</p>\n<pre class=\"body\" dir=\"auto\">\n{}</pre>\n",
        html(&message.body)
    );
    if !message.attachments.is_empty() {
        text.push_str("<ul class=\"attachments\">\n");
        for one in &message.attachments {
            let name = html(&one.name);
            let _ = writeln!(
                text,
                "<li><a href=\"attachments/{}\" download=\"{name}\" rel=\"noopener noreferrer\">\
                 <bdi>{name}</bdi></a> ({})</li>",
                one.sha256,
                counted(one.bytes, "byte"),
            );
        }
        text.push_str("</ul>\n");
    }
    text.push_str("</article>\n");
    text
}

/// Writes a name so that it cannot turn around what stands beside it.
pub(super) fn isolated(name: &str) -> String {
    format!("<bdi>{}</bdi>", html(name))
}

/// Writes a time to the second.
pub(super) fn when(time: Timestamp) -> String {
    let text = time.to_string();
    let second: String = text.chars().take(19).collect();
    format!(
        "<time datetime=\"{}\">{} UTC</time>",
        html(&text),
        html(&second.replace('T', " "))
    )
}
