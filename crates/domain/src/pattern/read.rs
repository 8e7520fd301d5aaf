//! Reads the text of a pattern or of a path.

use super::class::{Class, Sign};
use super::path::{Part, Tail};
use super::piece::{Atom, Piece};
use super::rule::Rule;
use super::segment::Segment;
use super::write::joins_what_precedes;
use crate::limits::{ALTERNATIVES_MAX, SEGMENTS_MAX, WILDCARDS_MAX};

/// Reads a pattern in NFC.
pub(super) fn pattern(text: &str) -> Result<(Vec<Part>, Tail), Rule> {
    let mut reader = Reader {
        rest: text,
        wildcards: 0,
        alternatives: 0,
    };
    let mut parts = Vec::new();
    loop {
        let part = reader.part()?;
        let is_last = reader.next().is_none();
        let tail = if part.is_none() {
            Tail::Below
        } else {
            Tail::Nothing
        };
        add(part, &mut parts)?;
        if is_last {
            return Ok((parts, tail));
        }
    }
}

/// Reads a path in NFC.
pub(super) fn path(text: &str) -> Result<Vec<Part>, Rule> {
    let mut parts = Vec::new();
    for name in text.split('/') {
        add(named(name)?, &mut parts)?;
    }
    Ok(parts)
}

/// Appends a part; `**` twice is `**`.
fn add(part: Option<Part>, parts: &mut Vec<Part>) -> Result<(), Rule> {
    let is_twice = matches!((&part, parts.last()), (Some(Part::Deep), Some(Part::Deep)));
    parts.extend(part.filter(|_| !is_twice));
    if parts.len() > SEGMENTS_MAX {
        return Err(Rule::Segments);
    }
    Ok(())
}

/// Makes a part of a name, or nothing of what is cleaned away.
fn named(name: &str) -> Result<Option<Part>, Rule> {
    match name {
        "" | "." => Ok(None),
        ".." => Err(Rule::Parent),
        name => Ok(Some(Part::One(Segment::Name(name.into())))),
    }
}

struct Reader<'a> {
    rest: &'a str,
    wildcards: usize,
    alternatives: usize,
}

/// Where a list of pieces stands, which says what ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Segment,
    Braces,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Counts a wildcard.
    fn wild(&mut self) -> Result<(), Rule> {
        self.wildcards += 1;
        if self.wildcards > WILDCARDS_MAX {
            return Err(Rule::Wildcards);
        }
        Ok(())
    }

    /// Reads up to the next slash, which it leaves.
    fn part(&mut self) -> Result<Option<Part>, Rule> {
        if let Some(rest) = self.rest.strip_prefix("**") {
            self.rest = rest;
            self.wild()?;
            return match self.peek() {
                None | Some('/') => Ok(Some(Part::Deep)),
                Some(_) => Err(Rule::DoubleStar),
            };
        }
        let pieces = self.pieces(Place::Segment)?;
        match Segment::new(pieces) {
            Segment::Name(name) => named(&name),
            glob @ Segment::Glob(_) => Ok(Some(Part::One(glob))),
        }
    }

    fn pieces(&mut self, place: Place) -> Result<Vec<Piece>, Rule> {
        let mut pieces = Vec::new();
        loop {
            let piece = match (self.peek(), place) {
                (None, Place::Braces) => return Err(Rule::BracesOpen),
                (Some('/'), Place::Braces) => return Err(Rule::BracesSlash),
                (Some('{'), Place::Braces) => return Err(Rule::BracesNested),
                (Some('}'), Place::Segment) => return Err(Rule::BracesClose),
                (None | Some('/'), Place::Segment) | (Some('}' | ','), Place::Braces) => {
                    return Ok(pieces);
                }
                (Some('{'), Place::Segment) => self.choice()?,
                (Some(_), _) => self.piece()?,
            };
            pieces.push(piece);
        }
    }

    fn piece(&mut self) -> Result<Piece, Rule> {
        match self.next() {
            Some('*') => {
                self.wild()?;
                if self.peek() == Some('*') {
                    return Err(Rule::DoubleStar);
                }
                Ok(Piece::Star)
            }
            Some('?') => {
                self.wild()?;
                Ok(Piece::One(Atom::Any))
            }
            Some('[') => {
                self.wild()?;
                Ok(Piece::One(Atom::Class(self.class()?)))
            }
            Some('\\') => match self.next() {
                Some(c @ ('*' | '?' | '[' | ']' | '{' | '}' | ',' | '!' | '\\')) => {
                    Ok(Piece::char(c))
                }
                _ => Err(Rule::Escape),
            },
            Some(c) => Ok(Piece::char(c)),
            None => Err(Rule::Empty),
        }
    }

    fn choice(&mut self) -> Result<Piece, Rule> {
        let mut alternatives = Vec::new();
        while self.next() != Some('}') {
            self.alternatives += 1;
            if self.alternatives > ALTERNATIVES_MAX {
                return Err(Rule::Alternatives);
            }
            alternatives.push(self.pieces(Place::Braces)?);
        }
        Ok(Piece::Choice(alternatives))
    }

    /// Reads a class behind its `[`.
    fn class(&mut self) -> Result<Class, Rule> {
        let sign = match self.peek() {
            Some('^') => return Err(Rule::ClassCaret),
            Some('!') => {
                self.next();
                Sign::NotIn
            }
            _ => Sign::In,
        };
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let is_dash = self.peek() == Some('-');
            let low = self.member()?;
            if is_dash && !ranges.is_empty() && self.peek() != Some(']') {
                return Err(Rule::ClassMember);
            }
            let high = match self.rest.strip_prefix('-') {
                Some(rest) if !rest.starts_with(']') => {
                    self.rest = rest;
                    self.member()?
                }
                _ => low,
            };
            if high < low {
                return Err(Rule::ClassReversed);
            }
            ranges.push((u32::from(low), u32::from(high)));
        }
        self.next();
        if ranges.is_empty() {
            return Err(Rule::ClassEmpty);
        }
        Ok(Class::new(sign, ranges))
    }

    fn member(&mut self) -> Result<char, Rule> {
        match self.next() {
            None => Err(Rule::ClassOpen),
            Some('/') => Err(Rule::ClassSlash),
            Some('[') => Err(Rule::ClassMember),
            Some('\\') => match self.next() {
                Some(c @ ('[' | ']' | '-' | '!' | '^' | '\\')) => Ok(c),
                Some(c) if joins_what_precedes(c) => Ok(c),
                _ => Err(Rule::ClassEscape),
            },
            Some(c) => Ok(c),
        }
    }
}
