//! The pages of a thread.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use comity_domain::Timestamp;
use comity_kernel::archive::export::{ExportedMessage, ExportedThread};
use comity_kernel::mail::table::Attachment;

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
                "<li><a href=\"{}\" download=\"{name}\" rel=\"noopener noreferrer\">\
                 <bdi>{name}</bdi></a> ({})</li>",
                attachment(one),
                counted(one.bytes, "byte"),
            );
        }
        text.push_str("</ul>\n");
    }
    text.push_str("</article>\n");
    text
}

/// Endings of files that a browser shows and never runs.
const SHOWN: [&str; 9] = [
    "csv", "gif", "jpeg", "jpg", "json", "pdf", "png", "txt", "webp",
];

/// Says where an attachment lies: under its hash (S10), with an ending by which a browser takes it for
/// nothing but what it is. Without one, some would look into it, and find a page to run (S14).
pub(super) fn attachment(one: &Attachment) -> String {
    let ending = one.name.rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending.map(str::to_ascii_lowercase);
    let known = SHOWN
        .iter()
        .find(|known| ending.as_deref() == Some(**known));
    format!("attachments/{}.{}", one.sha256, known.unwrap_or(&"bin"))
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

#[cfg(test)]
mod tests {
    use comity_domain::Sha256Hex;

    use super::*;

    // S10 S14
    #[test]
    fn an_attachment_is_named_as_nothing_that_runs() {
        let named = |name: &str| {
            let one = Attachment {
                sha256: Sha256Hex::new([0xab; 32]),
                name: name.to_owned(),
                bytes: 1,
            };
            let place = attachment(&one);
            let (stem, ending) = place.rsplit_once('.').unwrap();
            assert_eq!(stem, format!("attachments/{}", "ab".repeat(32)));
            ending.to_owned()
        };
        for (name, ending) in [
            ("notes.txt", "txt"),
            ("a.b.PNG", "png"),
            ("page.html", "bin"),
            ("image.svg", "bin"),
            ("x.txt.exe", "bin"),
            ("x.txt/../y", "bin"),
            ("txt", "bin"),
            ("", "bin"),
        ] {
            assert_eq!(named(name), ending, "{name}");
        }
    }
}
