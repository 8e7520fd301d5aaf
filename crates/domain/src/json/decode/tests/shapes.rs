//! Enums that carry values, and types with visitors of their own.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, SeqAccess};
use serde_json::json;

use super::super::*;
use super::faulty;

/// Either spelling of a repetition.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Every {
    Once,
    Seconds(u32),
    Between(u32, u32),
    Calendar { day: String },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    Opened { count: u8 },
    Closed { reason: String },
}

#[test]
fn variants_carry_values() {
    assert_eq!(decode(json!("once")), Ok(Every::Once));
    assert_eq!(decode(json!({"once": null})), Ok(Every::Once));
    assert_eq!(decode(json!({"seconds": 5})), Ok(Every::Seconds(5)));
    assert_eq!(decode(json!({"between": [1, 2]})), Ok(Every::Between(1, 2)));
    let day = "monday".to_owned();
    assert_eq!(
        decode(json!({"calendar": {"day": "monday"}})),
        Ok(Every::Calendar { day })
    );
    let alone = "must be an object whose only key is `seconds`, not the string \"seconds\"";
    faulty::<Every>(json!("seconds"), "", alone);
    faulty::<Every>(
        json!({"seconds": -5}),
        "seconds",
        "must be at least 0, not the number -5",
    );
    let short = "must be an array of length 2, not of length 1";
    faulty::<Every>(json!({"between": [1]}), "between", short);
    faulty::<Every>(
        json!({"between": [1, "x"]}),
        "between[1]",
        "must be a whole number, not the string \"x\"",
    );
    faulty::<Every>(json!({"calendar": {}}), "calendar.day", "is missing");
    faulty::<Every>(
        json!({"calendar": [1]}),
        "calendar",
        "must be an object, not an array",
    );
    let near = "is not a field of this request; did you mean `day`?";
    faulty::<Every>(json!({"calendar": {"dya": 1}}), "calendar.dya", near);
}

#[test]
fn tagged_variants_keep_their_rules() {
    let event = decode(json!({"kind": "opened", "count": 3}));
    assert_eq!(event, Ok(Event::Opened { count: 3 }));
    let near = "must be one of `opened`, `closed`; did you mean `opened`?";
    faulty::<Event>(json!({"kind": "open", "count": 3}), "kind", near);
    faulty::<Event>(json!({"count": 3}), "kind", "is missing");
    faulty::<Event>(json!({"kind": "closed"}), "reason", "is missing");
    let range = "must be a whole number from 0 to 255, not the number 300";
    faulty::<Event>(json!({"kind": "opened", "count": 300}), "", range);
    let near = "is not a field of this request; did you mean `count`?";
    faulty::<Vec<Event>>(json!([{"kind": "opened", "cuont": 3}]), "[0].cuont", near);
}

/// The first item of any array, leaving the rest unread.
#[derive(Debug)]
struct First;

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for First {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        match items.next_element::<u8>()? {
            Some(_) => Ok(self),
            None => Err(de::Error::invalid_length(0, &self)),
        }
    }
}

#[test]
fn own_visitors_use_the_same_words() {
    assert!(decode::<First>(json!([1])).is_ok());
    faulty::<First>(
        json!([1, 2]),
        "",
        "must be an array of length at most 1, not of length 2",
    );
    faulty::<First>(json!([]), "", "must be an array of one, not of length 0");
    faulty::<First>(
        json!({"a": 1}),
        "",
        "must be an array of one, not an object",
    );
    faulty::<First>(json!(1), "", "must be an array of one, not the number 1");
}
