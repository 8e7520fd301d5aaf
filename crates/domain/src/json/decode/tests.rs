use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde::Deserialize;
use serde::de;
use serde_json::json;

use super::*;

mod shapes;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Send {
    project: String,
    #[serde(default)]
    to: Vec<Name>,
    #[serde(default)]
    guard: Option<Guard>,
    #[serde(default)]
    limits: Option<Limits>,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Guard {
    Block,
    Warn,
    Off,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    count: u8,
    #[serde(default, alias = "wait")]
    seconds: f64,
}

/// A name in lower case, which says so itself.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        if text.chars().all(|c| c.is_ascii_lowercase()) {
            Ok(Self(text))
        } else {
            Err(de::Error::custom("must be lower-case letters"))
        }
    }
}

fn fault<T: DeserializeOwned + fmt::Debug>(value: Value) -> (String, String) {
    match decode::<T>(value) {
        Ok(value) => panic!("decoded to {value:?}"),
        Err(FieldError { field, rule }) => (field, rule),
    }
}

#[track_caller]
fn faulty<T: DeserializeOwned + fmt::Debug>(value: Value, field: &str, rule: &str) {
    assert_eq!(fault::<T>(value), (field.to_owned(), rule.to_owned()));
}

#[test]
fn a_whole_request_is_decoded() {
    let request = json!({
        "project": "p", "to": ["ann", "bob"], "guard": "warn",
        "limits": {"count": 255, "seconds": 2}, "metadata": {"x": [1, -2, 1.5, null, {"y": "z"}]},
    });
    let metadata = BTreeMap::from([("x".to_owned(), json!([1, -2, 1.5, null, {"y": "z"}]))]);
    let expected = Send {
        project: "p".to_owned(),
        to: vec![Name("ann".to_owned()), Name("bob".to_owned())],
        guard: Some(Guard::Warn),
        limits: Some(Limits {
            count: 255,
            seconds: 2.0,
        }),
        metadata,
    };
    assert_eq!(decode(request), Ok(expected));
}

#[test]
fn absent_and_null_options_are_none() {
    for request in [
        json!({"project": "p"}),
        json!({"project": "p", "guard": null}),
    ] {
        assert_eq!(decode::<Send>(request).unwrap().guard, None);
    }
    faulty::<Send>(
        json!({"project": null}),
        "project",
        "must be a string, not null",
    );
    faulty::<Send>(
        json!({"project": "p", "to": null}),
        "to",
        "must be an array, not null",
    );
}

#[test]
fn a_missing_field_is_named() {
    faulty::<Send>(json!({}), "project", "is missing");
    faulty::<Send>(
        json!({"project": "p", "limits": {}}),
        "limits.count",
        "is missing",
    );
    let missing = decode::<Send>(json!({})).unwrap_err();
    assert_eq!(missing.to_string(), "`project` is missing");
}

#[test]
fn an_unknown_field_gets_a_hint() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    let near = "is not a field of this request; did you mean `project`?";
    faulty::<Send>(json!({"projct": "p"}), "projct", near);
    let far = "is not a field of this request; the fields here are `project`, `to`, `guard`, \
               `limits`, `metadata`";
    faulty::<Send>(json!({"project": "p", "zzz": 1}), "zzz", far);
    faulty::<Send>(json!({"project": "p", "": 1}), "[\"\"]", far);
    faulty::<Send>(json!({"project": "p", "x.y\n": 1}), "[\"x.y\\n\"]", far);
    let near = "is not a field of this request; did you mean `count`?";
    faulty::<Send>(
        json!({"project": "p", "limits": {"coutn": 1}}),
        "limits.coutn",
        near,
    );
    let none = "is not a field of this request; there are no fields here";
    faulty::<Nothing>(json!({"a": 1}), "a", none);
    assert!(decode::<Nothing>(json!({})).is_ok());
}

#[test]
fn a_field_given_under_two_names_is_refused() {
    let twice = json!({"count": 1, "seconds": 1, "wait": 2});
    faulty::<Limits>(twice, "seconds", "is given more than once");
}

#[test]
fn kinds_are_not_confused() {
    faulty::<Send>(
        json!({"project": 5}),
        "project",
        "must be a string, not the number 5",
    );
    faulty::<Send>(
        json!({"project": -1.5}),
        "project",
        "must be a string, not the number -1.5",
    );
    faulty::<Send>(
        json!({"project": true}),
        "project",
        "must be a string, not true",
    );
    faulty::<Send>(
        json!({"project": ["p"]}),
        "project",
        "must be a string, not an array",
    );
    faulty::<Send>(
        json!({"project": {}}),
        "project",
        "must be a string, not an object",
    );
    faulty::<Limits>(
        json!({"count": "5"}),
        "count",
        "must be a whole number, not the string \"5\"",
    );
    let seconds = json!({"count": 1, "seconds": "5"});
    faulty::<Limits>(seconds, "seconds", "must be a number, not the string \"5\"");
    faulty::<bool>(
        json!("yes"),
        "",
        "must be true or false, not the string \"yes\"",
    );
    faulty::<()>(json!(0), "", "must be null, not the number 0");
    faulty::<char>(
        json!("ab"),
        "",
        "must be a character, not the string \"ab\"",
    );
    faulty::<Send>(json!(["p"]), "", "must be an object, not an array");
    faulty::<BTreeMap<String, u8>>(json!("x"), "", "must be an object, not the string \"x\"");
    let whole = decode::<Send>(json!(null)).unwrap_err();
    assert_eq!(whole.to_string(), "the request must be an object, not null");
}

#[test]
fn whole_numbers_have_bounds() {
    faulty::<u8>(json!(256), "", "must be at most 255, not the number 256");
    faulty::<u8>(json!(-1), "", "must be at least 0, not the number -1");
    faulty::<i8>(
        json!(-129),
        "",
        "must be at least -128, not the number -129",
    );
    let most = "must be at most 9223372036854775807, not the number 18446744073709551615";
    faulty::<i64>(json!(u64::MAX), "", most);
    faulty::<u64>(
        json!(1e30),
        "",
        "must be at most 18446744073709551615, not the number 1e30",
    );
    faulty::<i64>(
        json!(-1e30),
        "",
        "must be at least -9223372036854775808, not the number -1e30",
    );
    for (number, shown) in [(5.0, "5.0"), (1.5, "1.5"), (-0.0, "-0.0"), (1e19, "1e19")] {
        let rule =
            format!("must be a whole number without a point or exponent, not the number {shown}");
        faulty::<u64>(json!(number), "", &rule);
    }
    let rule = "must be a whole number other than 0, not the number 0";
    faulty::<NonZeroU32>(json!(0), "", rule);
    faulty::<f32>(
        json!(1e300),
        "",
        "must be at most 3.4028234663852886e38, not the number 1e300",
    );
    faulty::<f32>(
        json!(-1e300),
        "",
        "must be at least -3.4028234663852886e38, not the number -1e300",
    );
    faulty::<u128>(json!(-1), "", "must be a whole number, not the number -1");
    assert_eq!(decode(json!(u64::MAX)), Ok(u64::MAX));
    assert_eq!(decode(json!(i64::MIN)), Ok(i64::MIN));
    assert_eq!(decode(json!(7)), Ok(7.0));
    assert_eq!(decode(json!(7)), Ok(7_i128));
    assert_eq!(decode(json!(7)), Ok(7_usize));
}

#[test]
fn a_wrong_variant_gets_a_hint() {
    let near = "must be one of `block`, `warn`, `off`; did you mean `block`?";
    faulty::<Send>(json!({"project": "p", "guard": "Blok"}), "guard", near);
    let far = "must be one of `block`, `warn`, `off`, not \"zzz\"";
    faulty::<Send>(json!({"project": "p", "guard": "zzz"}), "guard", far);
    faulty::<Guard>(json!({"zzz": 1}), "", far);
    faulty::<Guard>(
        json!(5),
        "",
        "must be one of `block`, `warn`, `off`, not the number 5",
    );
    let object =
        "must be an object whose only key is one of `block`, `warn`, `off`, not one of size 0";
    faulty::<Guard>(json!({}), "", object);
    faulty::<Guard>(json!({"off": 1}), "off", "must be null, not the number 1");
}

#[test]
fn a_types_own_rule_arrives_with_its_path() {
    let request = json!({"project": "p", "to": ["a", "b", "c", "D"]});
    faulty::<Send>(request, "to[3]", "must be lower-case letters");
    let request = json!({"project": "p", "to": ["a", 5]});
    faulty::<Send>(request, "to[1]", "must be a string, not the number 5");
    let deep = json!({"a": [[1], [2, "x"]], "b": []});
    let rule = "must be a whole number, not the string \"x\"";
    faulty::<BTreeMap<String, Vec<Vec<u8>>>>(deep, "a[1][1]", rule);
}

#[test]
fn keys_have_types_too() {
    let named = decode::<BTreeMap<Name, u8>>(json!({"ann": 1})).unwrap();
    assert_eq!(named, BTreeMap::from([(Name("ann".to_owned()), 1)]));
    let rule = "has the key \"Ann\", which must be lower-case letters";
    faulty::<BTreeMap<String, BTreeMap<Name, u8>>>(json!({"x": {"Ann": 1}}), "x", rule);
    let numbered = decode::<BTreeMap<i8, u8>>(json!({"1": 1, "-2": 2})).unwrap();
    assert_eq!(numbered, BTreeMap::from([(1, 1), (-2, 2)]));
    for key in ["01", "+1", "x", ""] {
        let rule = format!(
            "has the key \"{key}\", which must be a whole number, not the string \"{key}\""
        );
        faulty::<BTreeMap<i8, u8>>(json!({key: 1}), "", &rule);
    }
    let odd = json!({"a b": {"c": "x"}});
    let rule = "must be a whole number, not the string \"x\"";
    faulty::<BTreeMap<String, BTreeMap<String, u8>>>(odd, "[\"a b\"].c", rule);
}

#[test]
fn newtypes_and_tuples_are_taken() {
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    struct Wrapped(String);
    #[derive(Debug, PartialEq, Deserialize)]
    struct Pair(u8, Option<Wrapped>);
    #[derive(Debug, PartialEq, Deserialize)]
    struct Unit;
    let wrapped = || Wrapped("x".to_owned());
    assert_eq!(decode(json!([1, "x"])), Ok(Pair(1, Some(wrapped()))));
    assert_eq!(decode(json!([1, null])), Ok((1_u8, Unit)));
    assert_eq!(
        decode(json!({"x": "x"})),
        Ok(BTreeMap::from([(wrapped(), wrapped())]))
    );
    let long = "must be an array of length 2, not of length 3";
    faulty::<Pair>(json!([1, null, 3]), "", long);
    faulty::<Pair>(json!([1, 2]), "[1]", "must be a string, not the number 2");
    faulty::<(u8, u8)>(json!({}), "", "must be an array of length 2, not an object");
    faulty::<[u8; 2]>(
        json!([]),
        "",
        "must be an array of length 2, not of length 0",
    );
}

#[test]
fn hostile_values_are_echoed_short_and_escaped() {
    let start = Instant::now();
    let long = "\u{1b}[31m".repeat(2_000_000);
    let shown = "\\u{1b}[31m".repeat(6) + "…";
    let rule = format!("must be a whole number, not the string \"{shown}\"");
    faulty::<u8>(json!(long), "", &rule);
    let (_, found) = fault::<Guard>(json!(long));
    assert!(found.chars().count() < 120, "{found}");
    let (field, found) = fault::<Send>(json!({long.clone(): 1}));
    assert!(field.chars().count() < 80, "{field}");
    assert!(found.chars().count() < 120, "{found}");
    let own = <FieldError as de::Error>::custom(&long);
    assert!(
        own.rule.chars().count() <= 401 && !own.rule.contains('\u{1b}'),
        "{own}"
    );
    assert_eq!(decode::<String>(json!(long.clone())), Ok(long));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn any_value_field_is_taken_as_it_is() {
    let value = json!({"a": [1, -1, 1.5, u64::MAX, "x", true, null, {}], "": {"b": []}});
    assert_eq!(decode(value.clone()), Ok(value));
    assert!(decode::<de::IgnoredAny>(json!({"a": [1, {"b": 2}]})).is_ok());
}

proptest! {
    #[test]
    fn decoding_agrees_with_serde_json(count in any::<i16>(), seconds in any::<i32>(), name in "[a-zA-Z]{0,4}") {
        let request = json!({
            "project": name, "to": [name],
            "limits": {"count": count, "seconds": f64::from(seconds) / 8.0},
        });
        let theirs = serde_json::from_value::<Send>(request.clone()).ok();
        prop_assert_eq!(decode::<Send>(request).ok(), theirs);
    }
}
