//! Makes the words of others harmless: in HTML, and in a script's data.

use std::fmt::Write as _;

/// Writes a text for HTML, between tags or inside a quoted attribute.
///
/// What would change the direction or the look of the text around it is shown by its number.
pub(super) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '`' => safe.push_str("&#96;"),
            c => push_visible(&mut safe, c),
        }
    }
    safe
}

/// Writes a text as a string of JavaScript that no HTML around it can misread.
pub(super) fn script(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(&mut visible, c);
    }
    let mut safe = String::with_capacity(visible.len() + 2);
    safe.push('"');
    for c in visible.chars() {
        match c {
            '\\' => safe.push_str("\\\\"),
            '\n' => safe.push_str("\\n"),
            '<' | '>' | '&' | '"' | '\'' | '`' | '\t' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe.push('"');
    safe
}

/// Adds a character, or its number if one would not see it or it would turn others around.
fn push_visible(text: &mut String, c: char) {
    let turns_others_around = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    if turns_others_around || is_control {
        let _ = write!(text, "[U+{:04X}]", u32::from(c));
    } else {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S14
    #[test]
    fn nothing_breaks_out_of_html() {
        let hostile = "</pre><script>alert('1')</script> & \" ` onload=x";
        let safe = html(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '`']), "{safe}");
        assert_eq!(html("a & b\n\tc"), "a &amp; b\n\tc");
        assert_eq!(html("été, 日本, עברית"), "été, 日本, עברית");
    }

    // S14
    #[test]
    fn nothing_breaks_out_of_a_script() {
        let hostile = "\"];alert(1)//</script><!-- \u{2028}\u{2029} ' ` ${x} \\\" \r\n";
        let safe = script(hostile);
        let inside = safe.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
        let loud = ['<', '>', '&', '"', '\'', '`', '\u{2028}', '\u{2029}', '\n'];
        assert!(!inside.contains(loud), "{safe}");
        // It is JSON, and says the same but for what was made visible.
        let read: String = serde_json::from_str(&safe).unwrap();
        assert_eq!(read, hostile.replace('\r', "[U+000D]"));
    }

    // S14
    #[test]
    fn what_turns_text_around_is_visible() {
        let hostile = "invoice\u{202e}fdp.exe\u{2066}\u{7}\u{9b}";
        assert_eq!(
            html(hostile),
            "invoice[U+202E]fdp.exe[U+2066][U+0007][U+009B]"
        );
        assert_eq!(script("\u{202e}"), "\"[U+202E]\"");
    }
}
