//! Tells whether the machine's `git` will do.

use std::fmt;
use std::process::{Command, Stdio};

/// The oldest `git` that an archive can be kept with.
const OLDEST: GitVersion = GitVersion {
    major: 2,
    minor: 36,
};

/// A version of `git`, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    major: u32,
    minor: u32,
}

/// Why no archive can be kept.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// There is no `git`, or it does not start.
    #[error("`git` does not run")]
    DoesNotRun(#[source] std::io::Error),
    /// It does not say its version.
    #[error("`git` does not tell its version")]
    Unknown,
    /// It is too old.
    #[error("`git` is {0}, {OLDEST} is needed")]
    TooOld(GitVersion),
}

/// Tells whether the machine's `git` can keep an archive (A9).
pub fn check() -> Result<GitVersion, Unfit> {
    let output = scrubbed("git")
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(Unfit::DoesNotRun)?;
    let version = parse(&String::from_utf8_lossy(&output.stdout)).ok_or(Unfit::Unknown)?;
    if version < OLDEST {
        return Err(Unfit::TooOld(version));
    }
    Ok(version)
}

/// Starts from an empty environment: only the path to find programs by is kept (S12).
fn scrubbed(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

fn parse(output: &str) -> Option<GitVersion> {
    let mut numbers = output.strip_prefix("git version ")?.split('.');
    Some(GitVersion {
        major: numbers.next()?.parse().ok()?,
        minor: numbers.next()?.trim().parse().ok()?,
    })
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A9
    #[test]
    fn versions_are_read_as_git_prints_them() {
        let version = |major, minor| Some(GitVersion { major, minor });
        assert_eq!(parse("git version 2.39.5\n"), version(2, 39));
        assert_eq!(parse("git version 2.45.1.windows.1\n"), version(2, 45));
        assert_eq!(parse("git version 3.0\n"), version(3, 0));
        assert_eq!(parse("hub version 2.14"), None);
        assert!(parse("git version 2.35.9\n").unwrap() < OLDEST);
    }

    // A9
    #[test]
    fn the_git_of_this_machine_will_do() {
        assert!(check().unwrap() >= OLDEST);
    }
}
