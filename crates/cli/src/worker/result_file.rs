//! What a command says of its own work, in the file that `COMITY_RESULT_FILE` names.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use comity_domain::Verdict;
use serde::Deserialize;
use serde_json::Value;

use super::folder::open_carefully;

/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// What a command says of its work; all of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    /// What it thinks of the work.
    #[serde(default)]
    pub(super) verdict: Option<Verdict>,
    /// What it has to say.
    #[serde(default)]
    pub(super) summary: Option<String>,
    /// How many tokens it used.
    #[serde(default)]
    pub(super) tokens: Option<u64>,
    /// What came of it.
    #[serde(default)]
    pub(super) result: Option<Value>,
}

/// Reads the file; without one nothing is said. The error says what is wrong with it.
pub(super) fn read(path: &Path) -> Result<Told, String> {
    let wrong = |what: &str| Err(format!("its result file {what}"));
    let file = match open_carefully(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Told::default()),
        Err(error) if is_link(&error) => return wrong("is a link"),
        Err(error) => return wrong(&format!("cannot be read: {error}")),
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return wrong("is not a regular file"),
        Err(error) => return wrong(&format!("cannot be read: {error}")),
    }
    let mut text = Vec::new();
    // The size it has now may not be the one it has when it is read.
    if let Err(error) = file.take(BYTES_MAX + 1).read_to_end(&mut text) {
        return wrong(&format!("cannot be read: {error}"));
    }
    if text.len() as u64 > BYTES_MAX {
        return wrong(&format!("is larger than {BYTES_MAX} bytes"));
    }
    // An array would be read as the fields in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return wrong("is malformed: it is no object");
    }
    serde_json::from_slice(&text).or_else(|error| wrong(&format!("is malformed: {error}")))
}

fn is_link(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(text: &[u8]) -> Result<Told, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn everything_may_be_left_out_and_nothing_added() {
        assert_eq!(read(Path::new("/nowhere/at/all")), Ok(Told::default()));
        assert_eq!(said(b"{}"), Ok(Told::default()));
        let full = br#"{"verdict":"warn","summary":"s","tokens":7,"result":[1,{"a":null}]}"#;
        let expected = Told {
            verdict: Some(Verdict::Warn),
            summary: Some("s".to_owned()),
            tokens: Some(7),
            result: Some(json!([1, { "a": null }])),
        };
        assert_eq!(said(full), Ok(expected));
        let deep = "[".repeat(100_000);
        for bad in [
            "",
            "null",
            "[]",
            "{",
            r#"{"tokens":-1}"#,
            r#"{"tokens":1.5}"#,
            r#"{"verdict":"fine"}"#,
            r#"{"colour":1}"#,
            "\u{0}",
            &deep,
        ] {
            let error = said(bad.as_bytes()).unwrap_err();
            assert!(error.starts_with("its result file is malformed"), "{error}");
        }
        assert!(said(b"\xff{}").is_err());
    }

    #[test]
    fn what_is_huge_or_not_a_regular_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        let refused = |what: &str| {
            let error = read(&path).unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
        refused("larger than");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        refused("is a link");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        refused("is a link");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        refused("is not a regular file");
        std::fs::remove_dir(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        refused("is not a regular file");
    }
}
