//! Text from outside with its length and characters checked once, at the border.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// Characters that change how their neighbours are shown, or are not shown at all.
///
/// In a label they let two different texts look the same (S6). The joiners U+200C and U+200D stay:
/// scripts and emoji need them.
pub const fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

macro_rules! bounded_text {
    ($(#[$doc:meta])* $name:ident, $check:ident, $least:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name<const MAX: usize>(String);

        impl<const MAX: usize> $name<MAX> {
            /// Checks `text`; the error is the rule it breaks.
            pub fn parse(text: impl Into<String>) -> Result<Self, String> {
                let text = text.into();
                $check(&text, MAX)?;
                Ok(Self(text))
            }

            /// Gives up the checked text.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl<const MAX: usize> Deref for $name<MAX> {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl<const MAX: usize> fmt::Display for $name<MAX> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<const MAX: usize> JsonSchema for $name<MAX> {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            /// Characters are never more than bytes, so the bound refuses nothing that is good.
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": $least, "maxLength": MAX })
            }
        }

        impl<'de, const MAX: usize> Deserialize<'de> for $name<MAX> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

bounded_text! {
    /// One line that says something: not blank, no control or deceptive characters.
    Line, check_line, 1
}

bounded_text! {
    /// Text of any number of lines, possibly none: tabs and line ends are its only control
    /// characters.
    Prose, check_prose, 0
}

bounded_text! {
    /// Text of any number of lines that says something.
    Text, check_text, 1
}

fn check_text(text: &str, max: usize) -> Result<(), String> {
    check_prose(text, max)?;
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    Ok(())
}

fn check_line(text: &str, max: usize) -> Result<(), String> {
    check_length(text, max)?;
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    match text.chars().find(|&c| c.is_control() || is_deceptive(c)) {
        Some(c) => Err(format!(
            "must be one line without control or invisible characters; it holds {}",
            c.escape_unicode()
        )),
        None => Ok(()),
    }
}

fn check_prose(text: &str, max: usize) -> Result<(), String> {
    check_length(text, max)?;
    let refused = |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match text.chars().find(refused) {
        Some(c) => Err(format!(
            "must not hold control characters; it holds {}",
            c.escape_unicode()
        )),
        None => Ok(()),
    }
}

fn check_length(text: &str, max: usize) -> Result<(), String> {
    if text.len() > max {
        return Err(format!("must be at most {max} bytes, not {}", text.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_visible_line() {
        assert!(Line::<8>::parse("Blue").is_ok());
        assert!(Line::<8>::parse("é ü").is_ok());
        for refused in [
            "",
            "   ",
            "a\nb",
            "a\0b",
            "a\u{1b}[2J",
            "a\u{202e}b",
            "\u{feff}a",
            "123456789",
        ] {
            assert!(Line::<8>::parse(refused).is_err(), "{refused:?}"); // S6 S7
        }
    }

    #[test]
    fn prose_may_be_empty_and_have_lines_but_no_nul() {
        assert!(Prose::<16>::parse("").is_ok());
        assert!(Prose::<16>::parse("a\r\n\tb").is_ok());
        assert!(Prose::<16>::parse("a\0").is_err()); // S7
        assert!(Prose::<16>::parse("a\u{1b}").is_err());
    }
}
