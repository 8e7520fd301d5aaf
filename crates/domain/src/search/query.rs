//! What a query asks for, and the meaning both engines are held to.

use std::fmt;

use super::grammar;
use super::token::{Indexed, indexed};

/// A parsed query: every term must hold, and so must the sender if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What the text must and must not hold; empty only if a sender is named.
    pub terms: Vec<Term>,
    /// The sender, an agent's name as it was spelled or `operator`.
    pub from: Option<String>,
}

/// Tokens that follow each other in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The tokens in order, at least one.
    pub tokens: Vec<String>,
    /// Whether the last token stands for all that begin with it.
    pub prefix: bool,
    /// Where the tokens are looked for.
    pub field: Field,
    /// Whether the tokens must be there or must not.
    pub sign: Sign,
}

/// The part of a message a term looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The subject or the body.
    Any,
    /// The subject alone.
    Subject,
}

/// What a term demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The text holds the term.
    Must,
    /// The text does not hold the term.
    MustNot,
}

impl Query {
    /// Reads a query; the error is the rule it breaks.
    ///
    /// Known are words, `"a phrase"` (an open quote reaches to the end), `-` before a word or
    /// phrase that must not be there, `word*` for words that begin so, `from:NAME`, and `subject:`
    /// before a word or phrase. All else is text: `foo.bar` is a phrase, `AND` is a word.
    pub fn parse(text: &str) -> Result<Self, String> {
        grammar::parse(text)
    }

    /// Says whether a message with this subject and body is found, whoever sent it.
    pub fn matches(&self, subject: &str, body: &str) -> bool {
        let [subject, body] = indexed(subject, body);
        self.terms.iter().all(|term| {
            let found = match term.field {
                Field::Any => term.is_in(&subject) || term.is_in(&body),
                Field::Subject => term.is_in(&subject),
            };
            match term.sign {
                Sign::Must => found,
                Sign::MustNot => !found,
            }
        })
    }
}

impl Term {
    /// Says whether the tokens follow each other somewhere in the index of a field.
    fn is_in(&self, places: &[Indexed]) -> bool {
        (0..places.len()).any(|at| self.begins(places.iter().skip(at).map(Indexed::token)))
    }

    /// Says whether the tokens are the first of `places`, where none stands for a skipped one.
    pub(super) fn begins<'a>(&self, mut places: impl Iterator<Item = Option<&'a str>>) -> bool {
        let Some((last, before)) = self.tokens.split_last() else {
            return false;
        };
        let mut next = || places.next().flatten();
        let is_last = |found: &str| {
            if self.prefix {
                found.starts_with(last.as_str())
            } else {
                found == last
            }
        };
        before.iter().all(|token| next() == Some(token)) && next().is_some_and(is_last)
    }
}

impl fmt::Display for Query {
    /// Writes the shortest query of the same meaning; it parses back to the same terms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        if let Some(name) = &self.from {
            write!(f, "from:{name}")?;
            gap = " ";
        }
        for term in &self.terms {
            write!(f, "{gap}{term}")?;
            gap = " ";
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    /// Writes a phrase as `a.b`, since there is no other way to write one that ends in a `*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            Sign::Must => "",
            Sign::MustNot => "-",
        };
        let field = match self.field {
            Field::Any => "",
            Field::Subject => "subject:",
        };
        let star = if self.prefix { "*" } else { "" };
        write!(f, "{sign}{field}{}{star}", self.tokens.join("."))
    }
}

#[cfg(test)]
mod tests;
