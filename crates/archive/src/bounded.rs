//! Runs a program with bounds on its time and on what it says.

use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a program may take, and how much of its answer is taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) time_max: Duration,
    pub(crate) bytes_max: u64,
}

impl Bounds {
    /// What does for nearly everything.
    pub(crate) const USUAL: Self = Self {
        time_max: Duration::from_secs(10),
        bytes_max: 64 << 20,
    };
}

/// How much of its complaints is taken in; the rest is thrown away.
const STDERR_BYTES_MAX: u64 = 64 << 10;
/// How often it is asked whether it ended, once it said all.
const GLANCE: Duration = Duration::from_millis(1);

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no end to tell of.
#[derive(Debug)]
pub(crate) enum Unfinished {
    DoesNotRun(std::io::Error),
    TookTooLong { seconds: u64 },
    SaidTooMuch { bytes_max: u64 },
}

/// Runs a program with this input.
pub(crate) fn run(
    mut command: Command,
    input: Vec<u8>,
    bounds: Bounds,
) -> Result<Ended, Unfinished> {
    let Bounds {
        time_max,
        bytes_max,
    } = bounds;
    let deadline = Instant::now() + time_max;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Unfinished::DoesNotRun)?;
    let ended = finish(&mut child, input, deadline, bytes_max);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended.map_err(|stopped| match stopped {
        Stopped::Late => Unfinished::TookTooLong {
            seconds: time_max.as_secs(),
        },
        Stopped::Full => Unfinished::SaidTooMuch { bytes_max },
        Stopped::Broken(error) => Unfinished::DoesNotRun(error),
    })
}

enum Stopped {
    Late,
    Full,
    Broken(std::io::Error),
}

/// Feeds and reads all three ends at once: a full pipe must not stop the others.
fn finish(
    child: &mut Child,
    input: Vec<u8>,
    deadline: Instant,
    bytes_max: u64,
) -> Result<Ended, Stopped> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads no further is not our failure.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let stdout = gather(child.stdout.take(), bytes_max + 1);
    let stderr = gather(child.stderr.take(), STDERR_BYTES_MAX);
    let stdout = taken(&stdout, deadline)?;
    if stdout.len() as u64 > bytes_max {
        return Err(Stopped::Full);
    }
    let stderr = taken(&stderr, deadline)?;
    loop {
        if let Some(status) = child.try_wait().map_err(Stopped::Broken)? {
            let code = status.code();
            return Ok(Ended {
                code,
                stdout,
                stderr,
            });
        }
        if Instant::now() >= deadline {
            return Err(Stopped::Late);
        }
        std::thread::sleep(GLANCE);
    }
}

/// Reads a pipe beside this thread, and hands over its beginning when it ends or is too long.
fn gather(pipe: Option<impl Read + Send + 'static>, bytes_max: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let Some(mut pipe) = pipe else {
        return receiver;
    };
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(bytes_max).read_to_end(&mut bytes);
        let is_full = bytes.len() as u64 == bytes_max;
        // Nobody waits any more if the time is over.
        let _ = sender.send(bytes);
        if is_full {
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
    });
    receiver
}

fn taken(receiver: &Receiver<Vec<u8>>, deadline: Instant) -> Result<Vec<u8>, Stopped> {
    let left = deadline.saturating_duration_since(Instant::now());
    match receiver.recv_timeout(left) {
        Ok(bytes) => Ok(bytes),
        Err(RecvTimeoutError::Timeout) => Err(Stopped::Late),
        Err(RecvTimeoutError::Disconnected) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run_shortly(script: &str, input: Vec<u8>) -> Result<Ended, Unfinished> {
        let bounds = Bounds {
            time_max: Duration::from_millis(300),
            bytes_max: 1 << 20,
        };
        run(sh(script), input, bounds)
    }

    fn up_to(bytes_max: u64) -> Bounds {
        Bounds {
            bytes_max,
            ..Bounds::USUAL
        }
    }

    #[test]
    fn large_input_and_output_do_not_wait_for_each_other() {
        let input = vec![b'x'; 4 << 20];
        let ended = run(sh("cat"), input.clone(), up_to(8 << 20)).unwrap();
        assert!(ended.code == Some(0) && ended.stdout == input);
        let unread = run(sh("exit 3"), input, up_to(1)).unwrap();
        assert_eq!(unread.code, Some(3));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        for script in ["exec sleep 60", "exec sleep 60 >&- 2>&-"] {
            let ended = run_shortly(script, Vec::new());
            assert!(
                matches!(ended, Err(Unfinished::TookTooLong { .. })),
                "{ended:?}"
            );
        }
    }

    #[test]
    fn a_program_that_says_too_much_is_ended_and_its_complaints_are_cut() {
        let ended = run(sh("exec cat /dev/zero"), Vec::new(), up_to(1 << 10));
        assert!(
            matches!(ended, Err(Unfinished::SaidTooMuch { .. })),
            "{ended:?}"
        );
        let loud = sh("head -c 1000000 /dev/zero >&2; echo done");
        let ended = run(loud, Vec::new(), up_to(1 << 10)).unwrap();
        assert_eq!(ended.stdout, b"done\n");
        assert_eq!(ended.stderr.len() as u64, STDERR_BYTES_MAX);
    }
}
