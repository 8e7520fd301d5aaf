//! Patterns as the checker reads them: its own reader and its own matcher, plain and slow.
//!
//! Where it is in doubt, a pattern covers less here than in the product: what is found to be
//! covered by two patterns is covered by both.

use std::collections::HashSet;

/// As many ways to choose from braces are tried; the rest is left out.
const CHOICES_MAX: usize = 1_024;

/// Whether case tells names apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// It does.
    Matters,
    /// It does not; known for ASCII letters alone.
    Folded,
}

/// A pattern, read from its canonical text.
#[derive(Clone, Debug)]
pub struct Glob {
    pub(super) parts: Vec<Part>,
}

/// What stands between two slashes.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// `**`: any number of names.
    Deep,
    /// One name, written in one of several ways.
    Name(Vec<Vec<Unit>>),
}

/// A piece of a name.
#[derive(Clone, Debug)]
pub(super) enum Unit {
    /// `*`: any number of characters.
    Star,
    /// One character.
    One(Set),
}

/// Which characters may stand in a place.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) ranges: Vec<(char, char)>,
    negated: bool,
    case: Case,
}

impl Set {
    /// Tells whether a character may stand there.
    pub(super) fn has(&self, c: char) -> bool {
        if c == '/' || c.is_control() {
            return false;
        }
        let among = |c: char| {
            self.ranges
                .iter()
                .any(|(low, high)| *low <= c && c <= *high)
        };
        let found = match self.case {
            Case::Matters => among(c),
            Case::Folded => among(c.to_ascii_lowercase()) || among(c.to_ascii_uppercase()),
        };
        found != self.negated
    }
}

impl Glob {
    /// Reads a canonical pattern, which the product has accepted.
    pub fn read(text: &str, case: Case) -> Self {
        let (path, ends_open) = match text.strip_suffix('/') {
            Some(path) => (path, true),
            None => (text, false),
        };
        let mut plain = true;
        let mut parts: Vec<Part> = Vec::new();
        for segment in path.split('/') {
            if segment == "**" {
                plain = false;
                parts.push(Part::Deep);
                continue;
            }
            let mut reader = Reader {
                rest: segment.chars().collect(),
                case,
                plain: true,
            };
            let ways = reader.ways();
            plain &= reader.plain;
            parts.push(Part::Name(ways));
        }
        if plain || ends_open {
            parts.push(Part::Deep);
        }
        Self { parts }
    }

    /// Tells whether it covers a path, given as its names.
    pub fn covers(&self, path: &[String]) -> bool {
        covers(&self.parts, path)
    }
}

fn covers(parts: &[Part], path: &[String]) -> bool {
    match parts {
        [] => path.is_empty(),
        [Part::Deep, rest @ ..] => (0..=path.len()).any(|skip| covers(rest, &path[skip..])),
        [Part::Name(ways), rest @ ..] => {
            let Some((name, below)) = path.split_first() else {
                return false;
            };
            let name: Vec<char> = name.chars().collect();
            !name.is_empty() && ways.iter().any(|way| spells(way, &name)) && covers(rest, below)
        }
    }
}

fn spells(units: &[Unit], name: &[char]) -> bool {
    match units {
        [] => name.is_empty(),
        [Unit::Star, rest @ ..] => (0..=name.len()).any(|skip| spells(rest, &name[skip..])),
        [Unit::One(set), rest @ ..] => match name.split_first() {
            Some((c, behind)) => set.has(*c) && spells(rest, behind),
            None => false,
        },
    }
}

/// Reads one segment.
struct Reader {
    rest: Vec<char>,
    case: Case,
    /// Whether no metacharacter was met.
    plain: bool,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        (!self.rest.is_empty()).then(|| self.rest.remove(0))
    }

    /// Reads all of it: every way to choose from its braces.
    fn ways(&mut self) -> Vec<Vec<Unit>> {
        let mut ways = vec![Vec::new()];
        while let Some(c) = self.next() {
            let choices = match c {
                '{' => self.choices(),
                c => vec![vec![self.unit(c)]],
            };
            let longer = ways.iter().flat_map(|way: &Vec<Unit>| {
                choices
                    .iter()
                    .map(move |choice| [&way[..], &choice[..]].concat())
            });
            ways = longer.take(CHOICES_MAX).collect();
        }
        ways
    }

    fn choices(&mut self) -> Vec<Vec<Unit>> {
        self.plain = false;
        let mut choices = vec![Vec::new()];
        while let Some(c) = self.next() {
            match (c, choices.last_mut()) {
                ('}', _) => break,
                (',', _) => choices.push(Vec::new()),
                (c, Some(last)) => {
                    let unit = self.unit(c);
                    last.push(unit);
                }
                (_, None) => {}
            }
        }
        choices
    }

    fn unit(&mut self, c: char) -> Unit {
        let one = |ranges, negated| {
            Unit::One(Set {
                ranges,
                negated,
                case: self.case,
            })
        };
        match c {
            '*' => {
                self.plain = false;
                Unit::Star
            }
            '?' => {
                let any = one(Vec::new(), true);
                self.plain = false;
                any
            }
            '[' => {
                self.plain = false;
                self.class()
            }
            '\\' => {
                let c = self.rest.first().copied().unwrap_or('\\');
                let escaped = one(vec![(c, c)], false);
                self.next();
                escaped
            }
            c => one(vec![(c, c)], false),
        }
    }

    fn class(&mut self) -> Unit {
        let negated = self.rest.first() == Some(&'!');
        if negated {
            self.next();
        }
        let mut ranges = Vec::new();
        while let Some(low) = self.member() {
            let is_range = self.rest.first() == Some(&'-') && self.rest.get(1) != Some(&']');
            let high = if is_range {
                self.next();
                self.member().unwrap_or(low)
            } else {
                low
            };
            ranges.push((low, high));
        }
        Unit::One(Set {
            ranges,
            negated,
            case: self.case,
        })
    }

    /// Reads a member of a class; nothing at its end.
    fn member(&mut self) -> Option<char> {
        match self.next()? {
            ']' => None,
            '\\' => self.next(),
            c => Some(c),
        }
    }
}

/// Returns the characters that tell two sets apart, and some that no set names.
pub(super) fn telling(sets: [&Set; 2]) -> Vec<char> {
    let mut found: Vec<char> = Vec::new();
    for (low, high) in sets.iter().flat_map(|set| &set.ranges) {
        let beside = [u32::from(*low).checked_sub(1), Some(u32::from(*high) + 1)];
        let beside = beside.into_iter().flatten().filter_map(char::from_u32);
        found.extend([*low, *high].into_iter().chain(beside));
    }
    found.extend(['x', 'y', 'z', 'X', '0', '_']);
    let other_case = |c: &char| [c.to_ascii_lowercase(), c.to_ascii_uppercase()];
    let cases: Vec<char> = found.iter().flat_map(other_case).collect();
    found.extend(cases);
    let mut seen = HashSet::new();
    found.retain(|c| seen.insert(*c));
    found
}
