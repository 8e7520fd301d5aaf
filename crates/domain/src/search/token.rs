//! Cuts text into the tokens that are indexed and looked for.

use std::collections::HashMap;
use std::iter::Peekable;

use unicode_normalization::char::compose;

use super::fold::{Folded, GAP};
use crate::limits::{SEARCH_PLACES_MAX, SEARCH_TOKEN_BYTES_MAX, SEARCH_TOKENS_MAX};

/// Gives the tokens of a text: its runs of letters and digits, folded, the first 10,000 of them.
///
/// Case, accents, width and ligatures are folded away; combining marks do not end a run. A token
/// has at most 64 bytes, which are the first of a longer run. A token is the only token of itself.
/// Reading stops with the last token, and no more than one token is held.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    words(text).map(|word| word.token)
}

/// One place of a text in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// The token is indexed at this place.
    Token(String),
    /// The place counts, but its token was already indexed at 256 places of the message.
    Skipped,
}

impl Indexed {
    /// Returns the token, if it is indexed.
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(token),
            Self::Skipped => None,
        }
    }
}

/// Gives what both engines index of a message's subject and body, place by place.
///
/// PostgreSQL keeps 256 places of a token in a message and forgets the others. SQLite would keep
/// them all, and find phrases that PostgreSQL does not.
pub fn indexed(subject: &str, body: &str) -> [Vec<Indexed>; 2] {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut place = |token: String| {
        if let Some(count) = places.get_mut(&token) {
            *count += 1;
            if *count > SEARCH_PLACES_MAX {
                return Indexed::Skipped;
            }
        } else {
            places.insert(token.clone(), 1);
        }
        Indexed::Token(token)
    };
    [subject, body].map(|text| tokens(text).map(&mut place).collect())
}

/// A token and the byte offset in the text at which its run starts.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) token: String,
    pub(super) start: usize,
}

/// Gives the tokens of a text with the places they come from.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> {
    let mut folded = Folded::new(text).peekable();
    std::iter::from_fn(move || next_word(&mut folded)).take(SEARCH_TOKENS_MAX)
}

/// Reads up to the end of the next run.
fn next_word(folded: &mut Peekable<Folded<'_>>) -> Option<Word> {
    let (start, first) = folded.find(|&(_, c)| c != GAP)?;
    let mut token = String::from(first);
    let mut has_room = true;
    while let Some((_, c)) = folded.next_if(|&(_, c)| c != GAP) {
        has_room = has_room && push(&mut token, c);
    }
    Some(Word { token, start })
}

/// Appends a character to a token; false if it does not fit.
///
/// Folding takes characters apart. What is left of them without their marks is put together again,
/// which is of use to Korean: a syllable is one letter of three bytes, not three letters of nine.
fn push(token: &mut String, c: char) -> bool {
    let last = token.chars().next_back();
    if let Some(whole) = last.and_then(|last| compose(last, c)) {
        token.pop();
        token.push(whole);
        return true;
    }
    let fits = token.len() + c.len_utf8() <= SEARCH_TOKEN_BYTES_MAX;
    if fits {
        token.push(c);
    }
    fits
}

#[cfg(test)]
mod tests;
