//! How far a consumer has come, as a document that outlives the program that wrote it (I5).

use comity_domain::{ConsumerId, Seq, Timestamp};
use serde_json::{Map, Value};

/// The version of the document that this program knows.
const VERSION: i64 = 1;

/// A cursor: a version, a place, and whatever else is kept beside it.
///
/// It is a document and not a struct, because programs of several ages may write it in turn: what
/// this one does not know it hands on as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor(Map<String, Value>);

/// A cursor on its way to its row.
pub(crate) struct CursorRow {
    pub(crate) consumer: ConsumerId,
    /// The event that placed the consumer where it started.
    pub(crate) placed: Seq,
    pub(crate) seq: Seq,
    pub(crate) document: String,
    pub(crate) acked_at: Option<Timestamp>,
}

impl Cursor {
    /// Makes the cursor of a consumer that has acknowledged nothing yet.
    pub fn start(seq: Seq) -> Self {
        let mut fields = Map::new();
        fields.insert("v".to_owned(), VERSION.into());
        fields.insert("seq".to_owned(), seq.get().into());
        Self(fields)
    }

    /// Reads a cursor; nothing if it is none.
    pub fn read(document: &str) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_str(document).ok()?;
        let is_known = fields.get("v").and_then(Value::as_i64)? >= VERSION;
        let has_place = fields.get("seq").and_then(Value::as_i64).is_some();
        (is_known && has_place).then_some(Self(fields))
    }

    /// Writes it down.
    pub fn write(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Returns the last epoch that the consumer has come to, by its number.
    pub fn epoch(&self) -> Option<Seq> {
        self.0.get("epoch").and_then(Value::as_i64).map(Seq::new)
    }

    /// Returns what the consumer keeps of its own.
    pub fn extra(&self) -> Map<String, Value> {
        match self.0.get("extra") {
            Some(Value::Object(extra)) => extra.clone(),
            _ => Map::new(),
        }
    }

    /// Moves it, and keeps everything else, its version included.
    pub fn move_to(&mut self, seq: Seq, epoch: Seq) {
        self.0.insert("seq".to_owned(), seq.get().into());
        self.0.insert("epoch".to_owned(), epoch.get().into());
    }

    /// Puts it where its consumer was moved, with everything else; which epoch it has come to is
    /// found out anew.
    pub fn place(&mut self, seq: Seq) {
        self.0.insert("seq".to_owned(), seq.get().into());
        self.0.remove("epoch");
    }

    /// Adds to what the consumer keeps of its own: what is not named stays, null takes away.
    pub fn add(&mut self, more: &Map<String, Value>) {
        let mut extra = self.extra();
        for (name, value) in more {
            match value {
                Value::Null => extra.remove(name),
                value => extra.insert(name.clone(), value.clone()),
            };
        }
        if extra.is_empty() {
            self.0.remove("extra");
        } else {
            self.0.insert("extra".to_owned(), extra.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(fields) => fields,
            _ => panic!("no object"),
        }
    }

    // I5
    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let mut cursor = Cursor::start(Seq::new(7));
        assert_eq!(cursor.write(), r#"{"seq":7,"v":1}"#);
        cursor.move_to(Seq::new(9), Seq::ZERO);
        cursor.add(&fields(json!({ "a": 1 })));
        assert_eq!(Cursor::read(&cursor.write()), Some(cursor));
        for bad in [
            "",
            "7",
            "[]",
            "{}",
            r#"{"v":1}"#,
            r#"{"seq":1}"#,
            r#"{"v":0,"seq":1}"#,
        ] {
            assert_eq!(Cursor::read(bad), None, "{bad}");
        }
    }

    // I5: a program of version 2 keeps `shards` in it, one of version 1 writes it in between
    #[test]
    fn old_and_new_programs_write_it_in_turn_and_nothing_is_lost() {
        let newer = r#"{"extra":{"a":1,"b":2},"seq":5,"shards":{"x":[1,2]},"v":2}"#;
        let mut older = Cursor::read(newer).unwrap();
        older.move_to(Seq::new(6), Seq::ZERO);
        older.add(&fields(json!({ "b": 3 })));
        let back: Value = serde_json::from_str(&older.write()).unwrap();
        assert_eq!(
            back,
            json!({ "v": 2, "seq": 6, "epoch": 0, "shards": { "x": [1, 2] }, "extra": { "a": 1, "b": 3 } })
        );
    }

    // I5: the consumer's own fields, written by two versions of the consumer
    #[test]
    fn a_consumer_keeps_fields_that_its_other_version_does_not_know() {
        let mut cursor = Cursor::start(Seq::ZERO);
        cursor.add(&fields(json!({ "a": 1, "b": 2, "c": 3 })));
        cursor.add(&fields(json!({ "a": 1, "b": 2, "d": 4 })));
        assert_eq!(
            Value::Object(cursor.extra()),
            json!({ "a": 1, "b": 2, "c": 3, "d": 4 })
        );
        cursor.add(&fields(
            json!({ "a": null, "b": null, "c": null, "d": null }),
        ));
        assert!(!cursor.write().contains("extra"));
    }
}
