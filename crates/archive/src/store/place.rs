//! The names of the archive's files: from numbers and slugs alone (S10).

use comity_domain::{
    AgentId, DiscoveryId, DispatchId, MessageId, ReservationId, RunId, Seq, Sha256Hex, Timestamp,
};

/// Letters of a subject that a message's file is named after.
const SUBJECT_CHARS: usize = 40;

/// Where a message is.
pub(super) fn message(project: &str, id: MessageId, at: Timestamp, subject: &str) -> String {
    format!(
        "{}{}.md",
        message_of_any_subject(project, id, at),
        slug(subject)
    )
}

/// Where a message is, as far as that does not depend on its subject.
pub(super) fn message_of_any_subject(project: &str, id: MessageId, at: Timestamp) -> String {
    let (year, month) = year_and_month(at);
    format!(
        "projects/{project}/messages/{year:04}/{month:02}/{}/{id}-",
        id.get() / 1_000
    )
}

/// Where the page of a thread is.
pub(super) fn thread(project: &str, id: MessageId) -> String {
    format!("projects/{project}/threads/{}/{id}.md", id.get() / 1_000)
}

/// Where an agent is.
pub(super) fn agent(project: &str, id: AgentId, name: &str) -> String {
    format!("projects/{project}/agents/{id}-{}.json", slug(name))
}

/// Where a lease is.
pub(super) fn reservation(project: &str, id: ReservationId) -> String {
    format!(
        "projects/{project}/reservations/{}/{id}.json",
        id.get() / 1_000
    )
}

/// Where the page of a run is.
pub(super) fn run(project: &str, id: RunId) -> String {
    format!("projects/{project}/runs/{id}/run.md")
}

/// Where a dispatch is: with its run, if it has one.
pub(super) fn dispatch(project: &str, run: Option<RunId>, id: DispatchId) -> String {
    let of = run.map(|run| format!("runs/{run}/")).unwrap_or_default();
    format!(
        "projects/{project}/{of}dispatches/{}/{id}.md",
        id.get() / 1_000
    )
}

/// Where a discovery is.
pub(super) fn discovery(project: &str, id: DiscoveryId) -> String {
    format!(
        "projects/{project}/discoveries/{}/{id}.json",
        id.get() / 1_000
    )
}

/// Where the bytes of an attachment are.
pub(super) fn attachment(sha256: &Sha256Hex) -> String {
    let hex = sha256.to_string();
    let start: String = hex.chars().take(2).collect();
    format!("attachments/{start}/{hex}")
}

/// Where a piece of the log is.
pub(super) fn log(first: Seq, last: Seq) -> String {
    let (first, last) = (first.get(), last.get());
    format!(
        "log/{}/{}/{first}-{last}.jsonl",
        first / 100_000,
        first / 1_000
    )
}

/// Returns the piece of the log that a file is named for.
pub(super) fn piece(path: &str) -> Option<(Seq, Seq)> {
    let name = path.rsplit('/').next()?.strip_suffix(".jsonl")?;
    let (first, last) = name.split_once('-')?;
    Some((Seq::new(first.parse().ok()?), Seq::new(last.parse().ok()?)))
}

fn year_and_month(at: Timestamp) -> (i16, i8) {
    // As the time is written everywhere else; one that cannot be written is in the year 0.
    let text = at.to_string();
    let mut parts = text.splitn(3, '-');
    let year = parts.next().and_then(|year| year.parse().ok());
    let month = parts.next().and_then(|month| month.parse().ok());
    match (year, month) {
        (Some(year @ 0..=9_999), Some(month)) => (year, month),
        _ => (0, 1),
    }
}

/// Makes letters and digits of a text, with one dash for everything between them.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if slug.len() >= SUBJECT_CHARS {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "x".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S10 S13
    #[test]
    fn paths_are_made_of_numbers_and_slugs_whatever_the_words() {
        let at = Timestamp::from_micros(1_792_080_000_000_001);
        let id = MessageId::new(12_345);
        for subject in [
            "../../etc/passwd",
            ".git",
            ".gitattributes",
            "git~1",
            "CON",
            "-rf",
            "--upload-pack=x",
            "\u{202e}gpj.exe",
            "日本",
            "é",
            "",
            "a\nb",
            &"x".repeat(300),
            "a/b\\c:d*e",
            "---",
        ] {
            let path = message("web", id, at, subject);
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/_.-".contains(c);
            assert!(path.chars().all(good), "{path}");
            assert!(
                path.starts_with("projects/web/messages/2026/10/12/12345-"),
                "{path}"
            );
            assert!(
                path.split('/')
                    .all(|part| !part.starts_with('.') && !part.starts_with('-'))
            );
            assert!(path.len() < 120 && path.strip_suffix(".md").is_some());
        }
    }

    #[test]
    fn a_piece_of_the_log_is_known_by_its_name() {
        let path = log(Seq::new(123_456), Seq::new(123_460));
        assert_eq!(path, "log/1/123/123456-123460.jsonl");
        assert_eq!(piece(&path), Some((Seq::new(123_456), Seq::new(123_460))));
        assert_eq!(piece("log/1/x.jsonl"), None);
    }
}
