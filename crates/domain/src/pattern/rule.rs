//! The rules of the language; each refusal names one, and what to write instead.

use std::error::Error;
use std::fmt;

use crate::limits::{
    ALTERNATIVES_MAX, COMPONENT_BYTES_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, SEGMENTS_MAX,
    WILDCARDS_MAX,
};

/// The rule that a refused pattern or path breaks.
///
/// The message never repeats the input: it may be long, and it may hold what a terminal obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPattern(pub(super) Rule);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Empty,
    Absolute,
    Parent,
    Home,
    Drive,
    Control,
    PatternBytes,
    PathBytes,
    ComponentBytes,
    Segments,
    Wildcards,
    Alternatives,
    DoubleStar,
    Escape,
    ClassOpen,
    ClassEmpty,
    ClassReversed,
    ClassSlash,
    ClassCaret,
    ClassMember,
    ClassEscape,
    BracesOpen,
    BracesClose,
    BracesNested,
    BracesSlash,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bound() {
            Some((what, max)) => write!(f, "must have at most {max} {what}"),
            None => f.write_str(self.0.text()),
        }
    }
}

impl Error for BadPattern {}

impl From<Rule> for BadPattern {
    fn from(rule: Rule) -> Self {
        Self(rule)
    }
}

impl Rule {
    /// Gives what is counted and how many are allowed, for the rules that are bounds.
    fn bound(self) -> Option<(&'static str, usize)> {
        Some(match self {
            Self::PatternBytes => ("bytes", PATTERN_BYTES_MAX),
            Self::PathBytes => ("bytes", PATH_BYTES_MAX),
            Self::ComponentBytes => ("bytes between two slashes", COMPONENT_BYTES_MAX),
            Self::Segments => ("segments", SEGMENTS_MAX),
            Self::Wildcards => (
                "wildcards (`*`, `?`, `**` and classes); split it into several",
                WILDCARDS_MAX,
            ),
            Self::Alternatives => (
                "alternatives in braces; split it into several",
                ALTERNATIVES_MAX,
            ),
            _ => return None,
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::Empty => "must not be empty; write `**` for the whole project",
            Self::Absolute => "must be relative to the project: leave out the leading `/`",
            Self::Parent => "must not leave the project: `..` is not allowed",
            Self::Home => "must not begin with `~`: write it relative to the project",
            Self::Drive => "must not begin with a drive letter: write it relative to the project",
            Self::Control => "must not hold control characters",
            Self::DoubleStar => {
                "must have `**` alone between slashes: write `**/*.rs` for `**.rs`, `a*/**` for `a**`"
            }
            Self::Escape => {
                r"must have one of `* ? [ ] { } , ! \` after `\`; write `/` between segments"
            }
            Self::ClassOpen => r"must close `[` with `]`, or escape it as `\[`",
            Self::ClassEmpty => "must have a character in every class: `[]` matches nothing",
            Self::ClassReversed => "must have the ranges of a class in order: `[a-z]`, not `[z-a]`",
            Self::ClassSlash => "must not hold `/` in a class: a class is one character of a name",
            Self::ClassCaret => {
                r"must not begin a class with `^`: write `[!a]` to negate, `[\^a]` for the character"
            }
            Self::ClassMember => {
                r"must escape `[`, and `-` between members, in a class: `\[`, `\-`"
            }
            Self::ClassEscape => r"must have one of `[ ] - ! ^ \` after `\` in a class",
            Self::BracesOpen => r"must close `{` with `}`, or escape it as `\{`",
            Self::BracesClose => r"must open `}` with `{`, or escape it as `\}`",
            Self::BracesNested => "must not nest braces: write the alternatives in one list",
            Self::BracesSlash => "must not hold `/` in braces: use two patterns",
            Self::PatternBytes
            | Self::PathBytes
            | Self::ComponentBytes
            | Self::Segments
            | Self::Wildcards
            | Self::Alternatives => "must be shorter",
        }
    }
}
