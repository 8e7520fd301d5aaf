//! Reads the text of a query: one item after the other, each of them a term, a sender or nothing.

use super::fold::is_of_word;
use super::query::{Field, Query, Sign, Term};
use super::token::tokens;
use crate::agent_name::AgentName;
use crate::limits::{
    SEARCH_PHRASE_TOKENS_MAX, SEARCH_PREFIX_CHARS_MIN, SEARCH_QUERY_BYTES_MAX, SEARCH_TERMS_MAX,
};

/// The sender that is not an agent.
const OPERATOR: &str = "operator";

/// Reads a query; the error is the rule it breaks.
pub(super) fn parse(text: &str) -> Result<Query, String> {
    check_bytes(text.len())?;
    let mut query = Query {
        terms: Vec::new(),
        from: None,
    };
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        rest = read_item(rest, &mut query)?.trim_start();
    }
    let is_positive = query.terms.iter().any(|term| term.sign == Sign::Must);
    if !is_positive && query.from.is_none() {
        let rule = if query.terms.is_empty() {
            "must hold a word to look for"
        } else {
            "must hold a word to look for, not only words to leave out"
        };
        return Err(rule.to_owned());
    }
    // A few characters fold to many: U+FDFA to four words. The bound is on what engines get, too.
    check_bytes(query.to_string().len())?;
    Ok(query)
}

fn check_bytes(bytes: usize) -> Result<(), String> {
    if bytes > SEARCH_QUERY_BYTES_MAX {
        return Err(format!(
            "must be at most {SEARCH_QUERY_BYTES_MAX} bytes, not {bytes}"
        ));
    }
    Ok(())
}

/// Reads one item into `query` and gives what follows it.
///
/// Two dashes are text, not a sign: `--release` looks for the flag.
fn read_item<'a>(text: &'a str, query: &mut Query) -> Result<&'a str, String> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(after) if !after.starts_with('-') => (Sign::MustNot, after),
        _ => (Sign::Must, text),
    };
    if let Some(after) = strip_keyword(text, "from:") {
        let (value, rest) = read_value(after);
        if sign == Sign::MustNot {
            return Err("must not hold a `-` before `from:`".to_owned());
        }
        if query.from.replace(sender(value.text())?).is_some() {
            return Err("must name one sender, not several".to_owned());
        }
        return Ok(rest);
    }
    let (field, text) = match strip_keyword(text, "subject:") {
        Some(after) => (Field::Subject, after),
        None => (Field::Any, text),
    };
    let (value, rest) = read_value(text);
    let (tokens, prefix) = value.tokens()?;
    if !tokens.is_empty() {
        query.terms.push(Term {
            tokens,
            prefix,
            field,
            sign,
        });
    }
    if query.terms.len() > SEARCH_TERMS_MAX {
        return Err(format!("must hold at most {SEARCH_TERMS_MAX} terms"));
    }
    Ok(rest)
}

/// Takes a keyword off the beginning, in any case.
fn strip_keyword<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(keyword.len())?;
    begin.eq_ignore_ascii_case(keyword).then_some(rest)
}

/// Checks the name of a sender.
fn sender(name: &str) -> Result<String, String> {
    if name.eq_ignore_ascii_case(OPERATOR) {
        return Ok(OPERATOR.to_owned());
    }
    match AgentName::parse(name) {
        Ok(name) => Ok(name.to_string()),
        Err(rule) => Err(format!(
            "must name an agent or `{OPERATOR}` after `from:`: {rule}"
        )),
    }
}

/// What stands behind the signs and keywords of an item.
enum Value<'a> {
    Word(&'a str),
    Phrase(&'a str),
}

/// Splits off a word, up to a space or a quote, or a phrase, up to its closing quote or the end.
fn read_value(text: &str) -> (Value<'_>, &str) {
    if let Some(inside) = text.strip_prefix('"') {
        let (phrase, rest) = inside.split_once('"').unwrap_or((inside, ""));
        return (Value::Phrase(phrase), rest);
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '"');
    let split = end.and_then(|end| text.split_at_checked(end));
    let (word, rest) = split.unwrap_or((text, ""));
    (Value::Word(word), rest)
}

impl<'a> Value<'a> {
    fn text(&self) -> &'a str {
        match self {
            Self::Word(text) | Self::Phrase(text) => text,
        }
    }

    /// Gives the tokens, possibly none, and whether the last is a prefix.
    ///
    /// A star is an operator only at the end of a word and directly behind a letter or digit:
    /// `foo.*` and `**foo**` are text.
    fn tokens(&self) -> Result<(Vec<String>, bool), String> {
        let stem = match self {
            Self::Word(word) => word.strip_suffix('*'),
            Self::Phrase(_) => None,
        };
        let stem = stem.filter(|stem| stem.ends_with(is_of_word));
        let all = tokens(stem.unwrap_or(self.text()));
        let tokens: Vec<String> = all.take(SEARCH_PHRASE_TOKENS_MAX + 1).collect();
        if tokens.len() > SEARCH_PHRASE_TOKENS_MAX {
            return Err(format!(
                "must hold at most {SEARCH_PHRASE_TOKENS_MAX} words in a phrase"
            ));
        }
        let is_short = |last: &String| last.chars().count() < SEARCH_PREFIX_CHARS_MIN;
        if stem.is_some() && tokens.last().is_some_and(is_short) {
            return Err(format!(
                "must have at least {SEARCH_PREFIX_CHARS_MIN} letters or digits before `*`"
            ));
        }
        Ok((tokens, stem.is_some()))
    }
}

#[cfg(test)]
mod tests;
