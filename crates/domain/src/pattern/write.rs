//! Writes the canonical text of a pattern.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

use super::class::{Class, Sign};
use super::path::{Cover, Part, Tail};
use super::piece::{Atom, Piece};

/// Gives the one text of a pattern.
pub(super) fn text(cover: &Cover) -> String {
    let mut text = String::new();
    for part in cover.own_parts() {
        if !text.is_empty() {
            text.push('/');
        }
        match part {
            Part::Deep => text.push_str("**"),
            Part::One(segment) => pieces(&segment.pieces(), is_escaped, &mut text),
        }
    }
    if cover.tail() == Tail::Below && !cover.is_plain() {
        text.push('/');
    }
    text
}

fn is_escaped(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | '{' | '}' | '\\')
}

fn pieces(pieces: &[Piece], is_escaped: fn(char) -> bool, text: &mut String) {
    for piece in pieces {
        match piece {
            Piece::One(Atom::Char(c)) => {
                text.extend(is_escaped(*c).then_some('\\'));
                text.push(*c);
            }
            Piece::One(Atom::Any) => text.push('?'),
            Piece::One(Atom::Class(class)) => self::class(class, text),
            Piece::Star => text.push('*'),
            Piece::Choice(alternatives) => choice(alternatives, text),
        }
    }
}

fn choice(alternatives: &[Vec<Piece>], text: &mut String) {
    let mut before = '{';
    for alternative in alternatives {
        text.push(before);
        pieces(alternative, |c| c == ',' || is_escaped(c), text);
        before = ',';
    }
    text.push('}');
}

fn class(class: &Class, text: &mut String) {
    text.push_str(match class.sign() {
        Sign::In => "[",
        Sign::NotIn => "[!",
    });
    for (low, high) in class.ranges() {
        member(low, text);
        if low < high {
            // Two neighbours are no longer as two members, so a text never grows by being read.
            text.extend((u32::from(low) + 1 < u32::from(high)).then_some('-'));
            member(high, text);
        }
    }
    text.push(']');
}

fn member(c: char, text: &mut String) {
    let is_meta = matches!(c, '[' | ']' | '-' | '!' | '^' | '\\');
    text.extend((is_meta || joins_what_precedes(c)).then_some('\\'));
    text.push(c);
}

/// Returns whether a character may become one with what stands before it, or change places.
///
/// In a class that is another member, and reading the text again would find a third one.
pub(super) fn joins_what_precedes(c: char) -> bool {
    canonical_combining_class(c) != 0 || is_nfc_quick(std::iter::once(c)) != IsNormalized::Yes
}
