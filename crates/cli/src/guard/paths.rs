//! Makes the names that Git gave into a question.

use std::collections::BTreeSet;

/// How many paths one question has.
const PATHS_MAX: usize = 10_000;
/// How long they are together, so that the request stays below the megabyte that servers take.
const PATHS_BYTES_MAX: usize = 800_000;

/// The paths of a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Those that can be asked about.
    paths: Vec<String>,
    /// Those that no pattern can name, as people see them.
    pub(crate) nameless: Vec<String>,
}

impl Named {
    /// Takes names as Git gives them: bytes. Nothing is converted with loss.
    pub(crate) fn of(names: &BTreeSet<Vec<u8>>) -> Self {
        let mut question = Self::default();
        for name in names {
            let text = std::str::from_utf8(name).ok();
            let text = text.filter(|text| !text.contains(char::is_control));
            match text {
                Some(path) => question.paths.push(path.to_owned()),
                None => question.nameless.push(name.escape_ascii().to_string()),
            }
        }
        question
    }

    /// Returns the paths of one question: if there are too many, the directories at the top, each of
    /// which stands for everything below it. That may find somebody who is not in the way, but misses
    /// nobody.
    pub(crate) fn paths(&self) -> Vec<String> {
        if fits(&self.paths) {
            return self.paths.clone();
        }
        let top = |path: &String| path.split('/').next().unwrap_or_default().to_owned();
        let tops: BTreeSet<_> = self.paths.iter().map(top).collect();
        tops.into_iter().collect()
    }
}

fn fits(paths: &[String]) -> bool {
    paths.len() <= PATHS_MAX && paths.iter().map(String::len).sum::<usize>() <= PATHS_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&[u8]]) -> BTreeSet<Vec<u8>> {
        names.iter().map(|name| name.to_vec()).collect()
    }

    // 3.11 S6: never a lossy conversion
    #[test]
    fn a_name_that_no_pattern_can_have_is_told_apart() {
        let named = Named::of(&set(&[b"a b", b"caf\xc3\xa9", b"bad\xff", b"new\nline"]));
        assert_eq!(named.paths, ["a b", "café"]);
        assert_eq!(named.nameless, ["bad\\xff", "new\\nline"]);
    }

    // 3.11: one question, on the safe side
    #[test]
    fn too_many_paths_are_asked_about_by_their_directories() {
        let few = Named::of(&set(&[b"src/a", b"src/b", b"top"]));
        assert_eq!(few.paths(), ["src/a", "src/b", "top"]);
        let paths = |count: usize, name: &str| {
            let path = |n: usize| format!("d{}/{name}{n}", n % 3);
            let paths = (0..count).map(path).chain(["top".to_owned()]).collect();
            let nameless = Vec::new();
            Named { paths, nameless }
        };
        let tops = ["d0", "d1", "d2", "top"];
        assert_eq!(paths(PATHS_MAX, "f").paths(), tops);
        assert_eq!(paths(5_000, &"long".repeat(50)).paths(), tops);
        assert_eq!(paths(PATHS_MAX - 1, "f").paths().len(), PATHS_MAX);
    }
}
