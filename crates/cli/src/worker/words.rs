//! What commands say, made fit for a report: cut, and without characters that have no place in it.

use comity_domain::limits::{GOAL_BYTES_MAX, PROGRESS_BYTES_MAX};
use comity_domain::text::is_deceptive;
use comity_domain::{Line, Text};

/// Returns one line, if it says something.
pub(super) fn line(text: &str) -> Option<Line<PROGRESS_BYTES_MAX>> {
    let fit = |c: char| {
        let is_bad = c.is_control() || is_deceptive(c);
        if is_bad { ' ' } else { c }
    };
    let text: String = text.chars().map(fit).collect();
    Line::parse(cut(text.trim(), PROGRESS_BYTES_MAX)).ok()
}

/// Returns some lines, if they say something.
pub(super) fn lines(text: &str) -> Option<Text<GOAL_BYTES_MAX>> {
    let fit = |c: char| {
        let is_bad = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if is_bad { ' ' } else { c }
    };
    let text: String = text.chars().map(fit).collect();
    Text::parse(cut(text.trim(), GOAL_BYTES_MAX)).ok()
}

/// Returns the beginning of a text, in whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_command_says_can_be_told() {
        assert_eq!(
            &*line("\u{1b}[1mhalf\tdone\u{202e}").unwrap(),
            "[1mhalf done"
        );
        assert_eq!(line(" \u{7}\n"), None);
        assert_eq!(line(&"ä".repeat(300)).unwrap().len(), PROGRESS_BYTES_MAX);
        assert_eq!(&*lines("a\nb\u{0}").unwrap(), "a\nb");
        assert_eq!(lines(""), None);
        assert!(lines(&"€".repeat(5_000)).unwrap().len() <= GOAL_BYTES_MAX);
    }
}
