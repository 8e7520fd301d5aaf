//! Makes text from outside harmless for a terminal (S23).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Writes characters that would move the cursor, change colours, break the line, reorder their
/// neighbours or hide as escapes; everything else stays.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Writes the same characters of a JSON document as its own escapes: the value stays the same.
pub(crate) fn harmless_json(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    for c in document.chars() {
        if c == '\n' || !is_harmful(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// Control characters of both sets, bidirectional overrides, separators of lines, and what shows
/// as nothing. The joiners U+200C and U+200D stay: scripts and emoji need them.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    // S23
    #[test]
    fn what_could_harm_a_terminal_is_shown_as_an_escape() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("\u{7}\u{8}\u{7f}\0", "\\u{7}\\u{8}\\u{7f}\\u{0}"),
        ] {
            assert_eq!(harmless(text), shown);
        }
        for kept in ["plain", "日本 🧑‍💻 é", "C:\\path"] {
            assert!(matches!(harmless(kept), Cow::Borrowed(_)), "{kept}");
        }
    }

    // S23
    #[test]
    fn json_keeps_its_value_and_harms_nobody() {
        let value = serde_json::json!({ "a": ["\u{9b}31m", "\u{202e}x\u{7f}", "\u{e0041}", "日"] });
        let shown = harmless_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.contains(|c| c != '\n' && is_harmful(c)), "{shown}");
        assert!(
            shown.contains('日') && shown.contains("\\u202ex\\u007f"),
            "{shown}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
