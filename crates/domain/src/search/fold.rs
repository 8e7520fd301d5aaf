//! Folds characters so that spellings of one word become equal: case, accents, width, ligatures.

use std::collections::VecDeque;
use std::str::CharIndices;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Stands for everything that ends a word.
pub(super) const GAP: char = ' ';

/// The folded characters of a text, each with the byte offset of the character it comes from.
///
/// Each character is folded for itself, without regard to its neighbours, and marks vanish at
/// once. The normalising iterators of the library would instead hold a whole run of combining
/// marks to sort it, which is as much memory as a hostile text likes.
#[derive(Clone, Debug)]
pub(super) struct Folded<'a> {
    source: CharIndices<'a>,
    at: usize,
    ready: VecDeque<char>,
}

impl<'a> Folded<'a> {
    /// Starts at the beginning of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            source: text.char_indices(),
            at: 0,
            ready: VecDeque::new(),
        }
    }
}

impl Iterator for Folded<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            if let Some(c) = self.ready.pop_front() {
                return Some((self.at, c));
            }
            let (at, c) = self.source.next()?;
            if c.is_ascii() {
                let is_letter = c.is_ascii_alphanumeric();
                let c = if is_letter {
                    c.to_ascii_lowercase()
                } else {
                    GAP
                };
                return Some((at, c));
            }
            self.at = at;
            fold(c, &mut self.ready);
        }
    }
}

/// Says whether a character belongs to a word or to the letter before it.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Appends what `c` folds to: nothing for a mark, one character for most, several for a ligature.
///
/// The decomposition is NFKD, not NFD: `ﬁle`, full-width and half-width letters and `x²` come with
/// pasted text, and whoever looks for them types `file` and `x2`. A symbol is a gap even if NFKD
/// has letters for it, or `Comity™` would be the one word `comitytm`. Case goes down, up and down
/// again, because letters without a partner of one letter meet only there: `ß`, `ẞ` and `SS`, `ς`
/// and `Σ`, `ı` and `I`.
fn fold(c: char, folded: &mut VecDeque<char>) {
    if is_dropped(c) {
        return;
    }
    if !is_of_word(c) {
        folded.push_back(GAP);
        return;
    }
    // Syllables would be put together again; they are most of Korean, and have neither case nor
    // accents.
    if matches!(c, '가'..='힣') {
        folded.push_back(c);
        return;
    }
    decompose_compatible(c, |part| {
        if is_dropped(part) {
            return;
        }
        let upper = part.to_lowercase().flat_map(char::to_uppercase);
        for lower in upper.flat_map(char::to_lowercase) {
            decompose_compatible(lower, |letter| {
                if !is_dropped(letter) {
                    let is_letter = letter == c || letter.is_alphanumeric();
                    folded.push_back(if is_letter { letter } else { GAP });
                }
            });
        }
    });
}

/// Says whether a mark vanishes: accents and points do, vowel signs that take room are letters.
fn is_dropped(c: char) -> bool {
    is_combining_mark(c)
        && (!c.is_alphanumeric() || c.general_category() == GeneralCategory::NonspacingMark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        Folded::new(text).map(|(_, c)| c).collect()
    }

    #[test]
    fn spellings_of_one_word_fold_to_one() {
        for (text, expected) in [
            ("Éa e\u{301}", "ea e"),
            ("Straße STRASSE STRAẞE", "strasse strasse strasse"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("İI ıi", "ii ii"),
            ("ﬁle ＡＢＣ x² ½ ①", "file abc x2 1 2 1"),
            ("Comity™", "comity "),
            ("שָׁלוֹם مُحَمَّد", "שלום محمد"),
            ("हिन्दी", "हिनदी"),
            ("🙂1️⃣", " 1"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn no_character_folds_to_many() {
        let longest = ('\0'..=char::MAX).map(|c| folded(&c.to_string()).chars().count());
        assert_eq!(longest.max(), Some(18)); // U+FDFA
    }

    #[test]
    fn offsets_are_those_of_the_source() {
        let offsets: Vec<_> = Folded::new("é\u{301}ﬁx").collect();
        assert_eq!(offsets, [(0, 'e'), (4, 'f'), (4, 'i'), (7, 'x')]);
    }
}
