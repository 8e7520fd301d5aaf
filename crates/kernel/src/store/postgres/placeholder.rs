//! Statements are written once with SQLite's placeholders.

/// Rewrites `?1` to `$1`, but not inside quotes.
pub(super) fn numbered(sql: &str) -> String {
    let mut rewritten = String::with_capacity(sql.len());
    let mut quote = None;
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        match quote {
            // A doubled quote closes and opens again: the same outcome as an escape.
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        let is_placeholder =
            quote.is_none() && c == '?' && rest.peek().is_some_and(char::is_ascii_digit);
        rewritten.push(if is_placeholder { '$' } else { c });
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn placeholders_are_rewritten_outside_of_quotes_only() {
        for (sql, expected) in [
            ("select 1", "select 1"),
            ("select ?1, ?12 where a=?1", "select $1, $12 where a=$1"),
            ("select '?1', ?2", "select '?1', $2"),
            ("select 'it''s ?1' || ?1", "select 'it''s ?1' || $1"),
            (
                "select \"a?1\" from t where b = ?1",
                "select \"a?1\" from t where b = $1",
            ),
            ("select '\"', ?1, '\"'", "select '\"', $1, '\"'"),
            ("select a ? b, '?'", "select a ? b, '?'"),
            ("select 'é?1', ?1", "select 'é?1', $1"),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }
}
