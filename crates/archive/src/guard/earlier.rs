//! Runs the hook that was there before ours.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::hook::Hook;
use super::script::earlier;

/// What the system says of a program without a first line that names its interpreter.
const NO_INTERPRETER: i32 = 8;

/// Runs the hook that was there before a script of ours, as Git would: with the same environment,
/// arguments and input. Returns its exit code; there may be none to run, or one that Git would not run
/// because it is not executable.
pub fn run_earlier(
    script: &Path,
    hook: Hook,
    arguments: &[OsString],
    input: &[u8],
) -> std::io::Result<Option<i32>> {
    let program = earlier(script);
    let runs = std::fs::metadata(&program)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if !runs {
        return Ok(None);
    }
    let mut child = start(&program, hook, arguments)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook need not read what it is told.
        let _ = stdin.write_all(input);
    }
    // One that a signal ended has refused.
    Ok(Some(child.wait()?.code().unwrap_or(1)))
}

fn start(program: &Path, hook: Hook, arguments: &[OsString]) -> std::io::Result<Child> {
    let spawn = |mut command: Command| {
        command.args(arguments);
        if hook.has_input() {
            command.stdin(Stdio::piped());
        }
        command.spawn()
    };
    match spawn(Command::new(program)) {
        Err(error) if error.raw_os_error() == Some(NO_INTERPRETER) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(program);
            spawn(shell)
        }
        started => started,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 3.11
    #[test]
    fn an_earlier_hook_gets_its_arguments_and_its_input() {
        let directory = tempfile::tempdir().unwrap();
        let (script, out) = (
            directory.path().join("pre-push"),
            directory.path().join("out"),
        );
        let run = |hook| {
            run_earlier(
                &script,
                hook,
                &["it's".into(), out.clone().into()],
                b"\x00a\nb",
            )
        };
        assert_eq!(run(Hook::PrePush).unwrap(), None);
        let path = earlier(&script);
        for (text, code) in [
            ("#!/bin/sh\n{ printf %s \"$1\"; cat; } >\"$2\"\nexit 7\n", 7),
            ("{ printf %s \"$1\"; cat; } >\"$2\"\n", 0),
            ("#!/bin/sh\nkill -9 $$\n", 1),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert_eq!(run(Hook::PrePush).unwrap(), None, "Git would not run it");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(run(Hook::PrePush).unwrap(), Some(code));
            assert_eq!(std::fs::read(&out).unwrap(), b"it's\x00a\nb");
        }
    }

    #[test]
    fn a_hook_that_does_not_read_is_no_failure() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("pre-push");
        std::fs::write(earlier(&script), "#!/bin/sh\nexit 0\n").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(earlier(&script), mode).unwrap();
        let input = vec![b'x'; 1 << 20];
        let ran = run_earlier(&script, Hook::PrePush, &[], &input);
        assert_eq!(ran.unwrap(), Some(0));
    }
}
