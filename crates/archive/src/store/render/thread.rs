//! The page of a thread.

use std::fmt::Write as _;

use comity_domain::Seq;
use comity_kernel::archive::Batch;
use comity_kernel::archive::batch::ThreadPage;
use comity_kernel::log::Event;

use super::{Content, File, name, one_line, push_quoted, slug};
use crate::store::place;

/// Renders the page of a thread that grows.
pub(super) fn file(batch: &Batch, page: &ThreadPage) -> File {
    File {
        seq: last_of_thread(batch, page),
        path: place::thread(slug(batch, page.project), page.id),
        content: Content::Bytes(page_text(batch, page).into_bytes()),
    }
}

/// Returns the event that made a thread grow last.
fn last_of_thread(batch: &Batch, page: &ThreadPage) -> Seq {
    let sent = batch.events.iter().zip(&batch.read).rev();
    let mut of_thread = sent.filter(
        |(_, event)| matches!(event, Some(Event::MessageSent(sent)) if sent.thread == page.id),
    );
    of_thread
        .next()
        .map_or(Seq::ZERO, |(recorded, _)| recorded.seq)
}

/// Writes the page: its head, and the last of the messages.
///
/// What others wrote stands in quotes, so that nothing in it passes for the page's own.
fn page_text(batch: &Batch, page: &ThreadPage) -> String {
    let mut text = format!("# {}\n\n", one_line(&page.subject));
    let shown = i64::try_from(page.last.len()).unwrap_or(i64::MAX);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Thread {}, {} messages.", page.id, page.messages);
    if page.messages > shown {
        let _ = writeln!(
            text,
            "The last {shown} are shown; all are under `messages/`."
        );
    }
    for message in &page.last {
        let from = name(batch, page.project, message.from);
        let _ = writeln!(text, "\n## {} from {from}, {}\n", message.id, message.at);
        if message.subject != page.subject {
            let _ = writeln!(text, "**{}**\n", one_line(&message.subject));
        }
        push_quoted(&mut text, &message.body);
        let rest = message.chars - i64::try_from(message.body.chars().count()).unwrap_or(i64::MAX);
        if rest > 0 {
            let _ = writeln!(text, "\n({rest} more characters are in the message itself)");
        }
    }
    text
}
