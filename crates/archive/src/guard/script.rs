//! What Git runs: a short script that runs the guard.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::hook::Hook;

/// The line by which a script of ours is known, before the sum of the lines after it.
const MARK: &[u8] = b"# comity-guard ";
const SHELL: &[u8] = b"#!/bin/sh\n";
/// What the name of an earlier hook is followed by.
const EARLIER: &str = ".before-comity";

/// What the script does when the program that asks is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// It stops the action.
    Block,
    /// It says so, and lets the action pass.
    Warn,
}

/// What a script runs.
#[derive(Clone, Debug)]
pub struct Script {
    /// The program, by its absolute path.
    pub program: PathBuf,
    /// The options it needs to find whom to ask.
    pub options: Vec<std::ffi::OsString>,
    /// What to do when the program is gone.
    pub away: Away,
}

/// Returns where the hook lies that was there before a script of ours.
pub fn earlier(script: &Path) -> PathBuf {
    let mut name = script.as_os_str().to_owned();
    name.push(EARLIER);
    name.into()
}

impl Script {
    /// Writes the script of a hook.
    pub(super) fn text(&self, hook: Hook) -> Vec<u8> {
        let body = self.body(hook);
        let mark = format!("{:016x}\n", sum(&body));
        [SHELL, MARK, mark.as_bytes(), &body].concat()
    }

    fn body(&self, hook: Hook) -> Vec<u8> {
        let name = hook.name();
        let program = quoted(self.program.as_os_str());
        let mut body =
            b"# Written by `comity guard install`; `comity guard uninstall` takes it away.\n"
                .to_vec();
        if hook == Hook::ReferenceTransaction {
            // It comes three times for each change of a reference, and asks once.
            body.extend_from_slice(b"[ \"$1\" = prepared ] || [ -e \"$0");
            body.extend_from_slice(EARLIER.as_bytes());
            body.extend_from_slice(b"\" ] || exit 0\n");
        }
        for part in [b"comity=".as_slice(), &program, b"\n"] {
            body.extend_from_slice(part);
        }
        body.extend_from_slice(b"if [ -x \"$comity\" ]; then\n  exec \"$comity\"");
        for option in &self.options {
            body.push(b' ');
            body.extend_from_slice(&quoted(option));
        }
        let rest = match self.away {
            Away::Block => "exit 1\n".to_owned(),
            Away::Warn => {
                format!("[ ! -x \"$0{EARLIER}\" ] || exec \"$0{EARLIER}\" \"$@\"\nexit 0\n")
            }
        };
        let said = match self.away {
            Away::Block => "this is stopped",
            Away::Warn => "this passes unchecked",
        };
        let end = format!(
            " guard hook {name} --script \"$0\" -- \"$@\"\nfi\n\
             printf '%s\\n' \"comity guard: $comity is gone, so nobody can be asked: {said}\" >&2\n{rest}"
        );
        body.extend_from_slice(end.as_bytes());
        body
    }
}

/// Whose a hook is, by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Ours, as it was written.
    Guard,
    /// Ours, but somebody changed it.
    GuardAndSomebody,
    /// Not ours.
    Somebody,
}

/// Tells whose a hook is.
pub(super) fn author(text: &[u8]) -> Author {
    let marked = text
        .strip_prefix(SHELL)
        .and_then(|text| text.strip_prefix(MARK));
    let Some(marked) = marked else {
        let mut lines = text.split(|byte| *byte == b'\n');
        let is_marked = lines.any(|line| line.starts_with(MARK));
        return if is_marked {
            Author::GuardAndSomebody
        } else {
            Author::Somebody
        };
    };
    let end = marked.iter().position(|byte| *byte == b'\n');
    let (mark, body) = marked.split_at(end.unwrap_or(marked.len()));
    let body = body.strip_prefix(b"\n").unwrap_or(body);
    if mark == format!("{:016x}", sum(body)).as_bytes() {
        Author::Guard
    } else {
        Author::GuardAndSomebody
    }
}

/// Quotes a word for the shell: nothing in it means anything.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// FNV-1a: it tells an edited script from ours, and protects against nobody.
fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(away: Away) -> Script {
        Script {
            program: "/opt/it's here/comity".into(),
            options: vec!["--data".into(), "/srv/$(touch x)\n'".into()],
            away,
        }
    }

    #[test]
    fn a_script_is_known_until_somebody_changes_it() {
        let text = script(Away::Block).text(Hook::PreCommit);
        assert_eq!(author(&text), Author::Guard);
        let mut changed = text.clone();
        changed.extend_from_slice(b"exit 0\n");
        assert_eq!(author(&changed), Author::GuardAndSomebody);
        assert_eq!(
            author(&[b"#!/bin/bash\n", &text[10..]].concat()),
            Author::GuardAndSomebody
        );
        assert_eq!(author(b"#!/bin/sh\nexit 0\n"), Author::Somebody);
        assert_eq!(author(b""), Author::Somebody);
    }

    #[test]
    fn a_script_reads_so() {
        let text = script(Away::Warn).text(Hook::ReferenceTransaction);
        let text = String::from_utf8(text).unwrap();
        let (_, body) = text.split_once("takes it away.\n").unwrap();
        assert_eq!(
            body,
            r#"[ "$1" = prepared ] || [ -e "$0.before-comity" ] || exit 0
comity='/opt/it'\''s here/comity'
if [ -x "$comity" ]; then
  exec "$comity" '--data' '/srv/$(touch x)
'\''' guard hook reference-transaction --script "$0" -- "$@"
fi
printf '%s\n' "comity guard: $comity is gone, so nobody can be asked: this passes unchecked" >&2
[ ! -x "$0.before-comity" ] || exec "$0.before-comity" "$@"
exit 0
"#
        );
    }
}
