//! A message as a file: front matter that any text survives, then the body as it is.
//!
//! Every value is JSON on one line, so no text can end the head or forge a field; the body is as
//! long as `body_bytes` says, whatever it looks like (S11).

use std::fmt::Write as _;

use comity_domain::{Importance, MessageId, Seq, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
        let mut text = "---\n".to_owned();
        // Field by field, in the order of the type.
        let head = serde_json::to_string(self)?;
        let fields: Fields = serde_json::from_str(&head)?;
        for (name, value) in fields.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
        text.push_str("---\n\n");
        text.push_str(&self.body);
        text.push('\n');
        Ok(text)
    }

    /// Reads a file; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let head = text.strip_prefix("---\n")?;
        let (head, body) = head.split_once("\n---\n\n")?;
        let mut fields = Map::new();
        for line in head.lines() {
            let (name, value) = line.split_once(": ")?;
            fields.insert(name.to_owned(), serde_json::from_str(value).ok()?);
        }
        let mut letter: Self = serde_json::from_value(Value::Object(fields)).ok()?;
        let body = body.strip_suffix('\n')?;
        if body.len() != letter.body_bytes {
            return None;
        }
        body.clone_into(&mut letter.body);
        Some(letter)
    }
}

/// Fields in the order they were written.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
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
