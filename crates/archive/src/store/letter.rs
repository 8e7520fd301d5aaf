//! A message as a file.

use comity_domain::{Importance, MessageId, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::front;

/// A message as its file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Its number.
    pub id: MessageId,
    /// Its place in the log.
    pub seq: Seq,
    /// When it was sent.
    pub at: Timestamp,
    /// The project's slug.
    pub project: String,
    /// The number of its thread's first message.
    pub thread: MessageId,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// The sender.
    pub from: String,
    /// Those it is meant for.
    pub to: Vec<String>,
    /// Those who get it for their information.
    pub cc: Vec<String>,
    /// Those the others do not know of.
    pub bcc: Vec<String>,
    /// One line.
    pub subject: String,
    /// How much it matters.
    pub importance: Importance,
    /// Whether the recipients are asked to acknowledge it.
    pub ack_required: bool,
    /// The sender's own key.
    pub topic: Option<String>,
    /// What it carries: path in the archive, name, bytes.
    pub attachments: Vec<Carried>,
    /// The SHA-256 of its body.
    pub body_sha256: String,
    /// How many bytes its body has.
    pub body_bytes: usize,
    /// Markdown.
    #[serde(skip)]
    pub body: String,
}

/// Something that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Where its bytes are in the archive.
    pub path: String,
    /// What the sender calls it.
    pub name: String,
    /// How many bytes it has.
    pub bytes: i64,
}

impl Letter {
    /// Writes the file.
    pub fn render(&self) -> serde_json::Result<String> {
        front::write(self, &self.body)
    }

    /// Reads a file; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut letter, body): (Self, String) = front::read(text)?;
        if body.len() != letter.body_bytes {
            return None;
        }
        letter.body = body;
        Some(letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(subject: &str, body: &str) -> Letter {
        Letter {
            id: MessageId::new(1),
            seq: Seq::new(2),
            at: Timestamp::from_micros(1_792_080_000_000_001),
            project: "web".into(),
            thread: MessageId::new(1),
            reply_to: None,
            from: "Blue".into(),
            to: vec!["Red".into(), "Far@api".into()],
            cc: vec![],
            bcc: vec![subject.to_owned()],
            subject: subject.to_owned(),
            importance: Importance::Normal,
            ack_required: true,
            topic: Some(subject.to_owned()),
            attachments: vec![Carried {
                path: "attachments/ab/abc".into(),
                name: subject.to_owned(),
                bytes: 5,
            }],
            body_sha256: "00".into(),
            body_bytes: body.len(),
            body: body.to_owned(),
        }
    }

    // S11 S13: parse(render(x)) = x
    #[test]
    fn any_text_survives() {
        let texts = [
            "",
            "---",
            "---\n\n",
            "\n---\n\n",
            "a: b\n---\n",
            "!!python/object",
            "&a *a",
            "- x: |",
            "\u{feff}",
            "\r\n",
            "\u{0}",
            "\"",
            "\\n",
            "{\"a\":1}",
            "Comity-Through: 9",
            "日本\u{202e}",
            "body\n",
            "\n\n\n",
            "# h\n\n---\nid: 7\n---\n\nx",
        ];
        for subject in texts {
            for body in texts {
                let letter = letter(subject, body);
                let text = letter.render().unwrap();
                assert_eq!(Letter::parse(&text).as_ref(), Some(&letter), "{text}");
            }
        }
    }

    #[test]
    fn a_letter_reads_well() {
        let text = letter("The plan", "two\nlines").render().unwrap();
        assert!(
            text.starts_with(
                "---\nid: 1\nseq: 2\nat: \"2026-10-15T16:00:00.000001Z\"\nproject: \"web\"\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("body_bytes: 9\n---\n\ntwo\nlines\n"),
            "{text}"
        );
        assert!(Letter::parse("no front").is_none());
    }
}
