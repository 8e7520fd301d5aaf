//! What a commit says: what happened, in words of ours alone, and the trailers (S13).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comity_domain::Seq;
use comity_kernel::log::Recorded;

/// The trailer that says up to which event a commit goes.
const THROUGH: &str = "Comity-Through: ";
/// The trailer that says whose log it is.
const EPOCH: &str = "Comity-Epoch: ";

/// The trailer that says what the chain's hash is there.
const HASH: &str = "Comity-Hash: ";

/// What the trailers of a commit say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trailers {
    pub(super) through: Seq,
    pub(super) epoch: String,
    pub(super) hash: String,
}

/// Writes the message of a commit.
pub(super) fn write(events: &[Recorded], trailers: &Trailers) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        *kinds.entry(&event.kind).or_default() += 1;
    }
    let told: Vec<_> = kinds
        .iter()
        .map(|(kind, count)| told(kind, *count))
        .collect();
    let mut text = match told.as_slice() {
        [] => "Written late".to_owned(),
        [only] => only.clone(),
        several => {
            let first: Vec<_> = several.iter().take(3).map(String::as_str).collect();
            let more = if several.len() > 3 { " and more" } else { "" };
            format!("{}{more}", first.join(", "))
        }
    };
    text.push_str("\n\n");
    if let (Some(first), Some(last)) = (events.first(), events.last()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Events {} to {}:\n", first.seq, last.seq);
        for line in &told {
            let _ = writeln!(text, "- {line}");
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "{EPOCH}{}\n{HASH}{}\n{THROUGH}{}\n",
        trailers.epoch, trailers.hash, trailers.through
    );
    text
}

/// Says how often something happened: `3 x message sent`.
fn told(kind: &str, count: usize) -> String {
    let words = kind.replace('_', " ");
    match count {
        1 => words,
        count => format!("{count} x {words}"),
    }
}

/// Reads the trailers, which are the last paragraph.
pub(super) fn trailers(message: &str) -> Option<Trailers> {
    let last = message.trim_end().rsplit("\n\n").next()?;
    let value = |name: &str| last.lines().find_map(|line| line.strip_prefix(name));
    let through: i64 = value(THROUGH)?.trim().parse().ok()?;
    Some(Trailers {
        through: Seq::new(through),
        epoch: value(EPOCH)?.trim().to_owned(),
        hash: value(HASH)?.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_read_as_they_were_written() {
        let trailers_of = Trailers {
            through: Seq::new(1_017),
            epoch: "abc".into(),
            hash: "00ff".into(),
        };
        let text = write(&[], &trailers_of);
        assert_eq!(trailers(&text), Some(trailers_of));
        assert_eq!(
            trailers("Fix it\n\nComity-Through: 5\n\nsaid somebody\n"),
            None
        );
        assert_eq!(trailers("Comity-Through: x\nComity-Epoch: y"), None);
    }
}
