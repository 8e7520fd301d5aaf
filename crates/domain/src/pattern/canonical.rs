//! Patterns in the one form by which they are stored and compared.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use super::alphabet::Alphabet;
use super::path::{Cover, Part, Tail};
use super::piece::Piece;
use super::read;
use super::rule::{BadPattern, Rule};
use super::wire::LiteralPath;
use super::write;
use crate::limits::{COMPONENT_BYTES_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX};

/// Every byte of a path may need a backslash before it.
pub(super) const TEXT_BYTES_MAX: usize = 2 * PATH_BYTES_MAX;

/// A pattern over the paths of a project, in canonical form; a copy is cheap.
///
/// Two patterns are equal if their canonical texts are.
#[derive(Clone)]
pub struct Pattern(Arc<Canonical>);

struct Canonical {
    text: Box<str>,
    /// The path, if there is no metacharacter.
    path: Option<Box<str>>,
    cover: Cover,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        check_text(text, TEXT_BYTES_MAX, Rule::PatternBytes)?;
        if is_drive(text) {
            return Err(Rule::Drive.into());
        }
        let (parts, tail) = read::pattern(&text.nfc().collect::<String>())?;
        let pattern = Self::checked(parts, tail)?;
        let longest = text.len().max(pattern.as_str().len());
        if pattern.0.path.is_none() && longest > PATTERN_BYTES_MAX {
            return Err(Rule::PatternBytes.into());
        }
        Ok(pattern)
    }

    /// Takes a path as it is: `app/[id]/page.tsx` is a file.
    pub fn literal(path: &str) -> Result<Self, BadPattern> {
        check_text(path, PATH_BYTES_MAX, Rule::PathBytes)?;
        let parts = read::path(&path.nfc().collect::<String>())?;
        Self::checked(parts, Tail::Below)
    }

    /// Returns the canonical text; reading it gives the same pattern.
    ///
    /// Only folding can make a text longer than what is read; see [`Self::folded`].
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns the pattern for a project without regard to case.
    ///
    /// It is matched against folded names, each character of which is the lower case of the upper
    /// case. It never fails, even if the folded text is longer than a pattern may be.
    #[must_use]
    pub fn folded(&self) -> Self {
        Self::new(self.0.cover.folded())
    }

    /// Returns the path that this is, if there is no metacharacter.
    pub fn path(&self) -> Option<String> {
        self.0.path.as_deref().map(str::to_owned)
    }

    /// Returns whether some path is covered by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (&self.0.path, &other.0.path) {
            (Some(left), Some(right)) => is_at_or_below(left, right) || is_at_or_below(right, left),
            _ => self.0.cover.meets(&other.0.cover),
        }
    }

    /// Returns whether a path is covered itself: `**/*.rs` overlaps the path `README`, below which
    /// there could be such a file, but does not cover it.
    pub fn covers(&self, path: &LiteralPath) -> bool {
        self.0.cover.covers(path.pattern().cover())
    }

    /// Tells whether everything it covers lies at or below one name: it need not be compared with
    /// patterns elsewhere.
    pub fn begins_with_a_name(&self) -> bool {
        let first = self.0.cover.parts().first();
        first.and_then(super::path::Part::name).is_some()
    }

    pub(super) fn cover(&self) -> &Cover {
        &self.0.cover
    }

    fn new(cover: Cover) -> Self {
        let names = cover.own_parts().iter().map(Part::name);
        let path = names
            .collect::<Option<Vec<_>>>()
            .map(|names| names.join("/"));
        Self(Arc::new(Canonical {
            text: write::text(&cover).into(),
            path: path.map(Into::into),
            cover,
        }))
    }

    /// Makes a pattern of what was read, if it keeps to the rules that the canonical form shows.
    fn checked(parts: Vec<Part>, tail: Tail) -> Result<Self, BadPattern> {
        if parts.is_empty() {
            return Err(Rule::Empty.into());
        }
        let is_long = |part: &Part| match part {
            Part::Deep => false,
            Part::One(segment) => bytes(&segment.pieces()) > COMPONENT_BYTES_MAX,
        };
        if parts.iter().any(is_long) {
            return Err(Rule::ComponentBytes.into());
        }
        let pattern = Self::new(Cover::new(parts, tail, Alphabet::Exact));
        if pattern.as_str().starts_with('~') {
            return Err(Rule::Home.into());
        }
        if is_drive(pattern.as_str()) {
            return Err(Rule::Drive.into());
        }
        if pattern
            .0
            .path
            .as_ref()
            .is_some_and(|path| path.len() > PATH_BYTES_MAX)
        {
            return Err(Rule::PathBytes.into());
        }
        Ok(pattern)
    }
}

/// Checks what needs no reading, so that a huge text costs nothing.
fn check_text(text: &str, bytes_max: usize, rule: Rule) -> Result<(), Rule> {
    if text.len() > bytes_max {
        return Err(rule);
    }
    if text.is_empty() {
        return Err(Rule::Empty);
    }
    if text.starts_with('/') {
        return Err(Rule::Absolute);
    }
    if text.contains(char::is_control) {
        return Err(Rule::Control);
    }
    Ok(())
}

/// Returns whether a text begins with a drive: `C:`, `C:/` or `C:\`.
///
/// A name such as `c:*`, whose escape looks like the last, counts as one, too.
fn is_drive(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), None | Some('/' | '\\'))
}

/// Returns whether `path` is `above` or lies below it.
fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Counts the bytes of the longest name that is written out; a wildcard counts as one.
fn bytes(pieces: &[Piece]) -> usize {
    let longest = |lists: &[Vec<Piece>]| lists.iter().map(|list| bytes(list)).max();
    let one = |piece: &Piece| match piece {
        Piece::Choice(alternatives) => longest(alternatives).unwrap_or_default(),
        piece => piece.as_char().map_or(1, char::len_utf8),
    };
    pieces.iter().map(one).sum()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.as_str()).finish()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
