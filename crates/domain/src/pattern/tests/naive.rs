//! The meaning of patterns once more, as plainly as it can be said, to test the product against.

use std::fmt::Write;

/// What a name is made of.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Char(char),
    Any,
    Star,
    In(Vec<char>),
    NotIn(Vec<char>),
    OneOf(Vec<Vec<Token>>),
}

/// A part of a path; none is `**`.
pub(super) type Part = Option<Vec<Token>>;

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) parts: Vec<Part>,
    pub(super) ends_with_slash: bool,
}

impl Source {
    /// Writes the pattern, cluttered with what is to be cleaned away where `clutter` has a bit.
    pub(super) fn text(&self, clutter: u32) -> String {
        let mut text = String::new();
        for (at, part) in self.parts.iter().enumerate() {
            let extra = ["", "./", "", ".//./"][(clutter >> (2 * at) & 3) as usize];
            let slash = if at > 0 { "/" } else { "" };
            write!(text, "{slash}{extra}").unwrap();
            match part {
                None => text.push_str("**"),
                Some(tokens) => spell(tokens, clutter, &mut text),
            }
        }
        text.push_str(if self.ends_with_slash { "/" } else { "" });
        text
    }

    /// Returns whether a path is covered.
    pub(super) fn covers(&self, path: &[&str]) -> bool {
        let is_plain = |part: &Part| {
            part.as_ref()
                .is_some_and(|tokens| tokens.iter().all(|token| matches!(token, Token::Char(_))))
        };
        let is_below_covered = self.ends_with_slash || self.parts.iter().all(is_plain);
        let shortest = if is_below_covered { 1 } else { path.len() };
        (shortest..=path.len()).any(|end| matches_path(&self.parts, &path[..end]))
    }

    /// Counts the components that a path needs at least for what is not `**`.
    pub(super) fn needs(&self) -> usize {
        self.parts.iter().flatten().count()
    }

    /// Folds the letters of ASCII.
    pub(super) fn lowered(&self) -> Self {
        let parts = self.parts.iter().map(|part| part.as_deref().map(lowered));
        Self {
            parts: parts.collect(),
            ends_with_slash: self.ends_with_slash,
        }
    }
}

/// Counts the characters that a name needs for the longest of the alternatives.
pub(super) fn needs(tokens: &[Token]) -> usize {
    let one = |token: &Token| match token {
        Token::Star => 0,
        Token::OneOf(lists) => lists.iter().map(|list| needs(list)).max().unwrap_or(0),
        _ => 1,
    };
    tokens.iter().map(one).sum()
}

fn matches_path(parts: &[Part], path: &[&str]) -> bool {
    match parts {
        [] => path.is_empty(),
        [None, rest @ ..] => (0..=path.len()).any(|at| matches_path(rest, &path[at..])),
        [Some(tokens), rest @ ..] => {
            let name = path.first().map(|name| name.chars().collect::<Vec<_>>());
            name.is_some_and(|name| matches_name(tokens, &name)) && matches_path(rest, &path[1..])
        }
    }
}

pub(super) fn matches_name(tokens: &[Token], name: &[char]) -> bool {
    let Some((token, rest)) = tokens.split_first() else {
        return name.is_empty();
    };
    let takes = |is_met: &dyn Fn(&char) -> bool| {
        name.first().is_some_and(is_met) && matches_name(rest, &name[1..])
    };
    match token {
        Token::Char(c) => takes(&|d| d == c),
        Token::Any => takes(&|_| true),
        Token::In(set) => takes(&|c| set.contains(c)),
        Token::NotIn(set) => takes(&|c| !set.contains(c)),
        Token::Star => (0..=name.len()).any(|at| matches_name(rest, &name[at..])),
        Token::OneOf(lists) => lists
            .iter()
            .any(|list| matches_name(&[list, rest].concat(), name)),
    }
}

fn spell(tokens: &[Token], clutter: u32, text: &mut String) {
    for token in tokens {
        match token {
            Token::Char(c) if "*?[]{},\\!".contains(*c) => text.extend(['\\', *c]),
            Token::Char(c) => text.push(*c),
            Token::Any => text.push('?'),
            Token::Star => text.push('*'),
            Token::In(set) => spell_class("[", set, clutter, text),
            Token::NotIn(set) => spell_class("[!", set, clutter, text),
            Token::OneOf(lists) => {
                let mut before = '{';
                for list in lists {
                    text.push(std::mem::replace(&mut before, ','));
                    spell(list, clutter, text);
                }
                text.push('}');
            }
        }
    }
}

fn spell_class(open: &str, set: &[char], clutter: u32, text: &mut String) {
    text.push_str(open);
    for c in set {
        text.push(*c);
        if clutter & 1 == 1 {
            text.extend(['-', *c]);
        }
    }
    text.push(']');
}

fn lowered(tokens: &[Token]) -> Vec<Token> {
    let set = |set: &[char]| set.iter().map(char::to_ascii_lowercase).collect();
    let one = |token: &Token| match token {
        Token::Char(c) => Token::Char(c.to_ascii_lowercase()),
        Token::In(chars) => Token::In(set(chars)),
        Token::NotIn(chars) => Token::NotIn(set(chars)),
        Token::OneOf(lists) => Token::OneOf(lists.iter().map(|list| lowered(list)).collect()),
        Token::Any | Token::Star => token.clone(),
    };
    tokens.iter().map(one).collect()
}
