//! One try with a program.

use std::process::Stdio;
use std::time::Duration;

use comity_domain::HookCommand;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, Command};

use super::telling::Letter;

/// Where programs are looked for by the program that is run.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Bytes of what it says on stderr that are noted; the rest is read and thrown away.
const SAID_BYTES_MAX: usize = 256;

/// Runs the program with the event on its stdin. Exit code 0 means that it was told.
///
/// It gets a process group, an environment that says what this is about and nothing of the server's,
/// and no more time than a request would.
pub(super) async fn run(
    command: &HookCommand,
    letter: &Letter,
    longest: Duration,
) -> Result<(), String> {
    let Some((program, arguments)) = command.words().split_first() else {
        return Err("there is no program".to_owned());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("COMITY_HOOK", letter.hook.to_string())
        .env("COMITY_SEQ", letter.seq.to_string())
        .env("COMITY_KIND", &letter.kind)
        .env("COMITY_DELIVERY", letter.delivery())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let mut group = Group(child.id());
    let ended = tokio::time::timeout(longest, talk(&mut child, &letter.json)).await;
    match ended {
        Ok(ended) => {
            // It was waited for: its number may be another's by now.
            group.0 = None;
            ended
        }
        Err(_) => Err(format!("`{program}` did not end in time")),
    }
}

/// Hands over the event and waits for the end.
async fn talk(child: &mut Child, event: &str) -> Result<(), String> {
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // Who does not read is judged by its exit code.
            let _ = stdin.write_all(event.as_bytes()).await;
            let _ = stdin.write_all(b"\n").await;
        }
    };
    let mut said = Vec::new();
    let status = {
        let listening = async {
            tokio::join!(tell, listen(stderr, &mut said));
            // Its end is what counts, not that of its output.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            status = child.wait() => status.map_err(|error| error.to_string())?,
            () = listening => return Ok(()),
        }
    };
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    Err(format!("{status}: {}", said.trim()))
}

async fn listen(stderr: Option<ChildStderr>, said: &mut Vec<u8>) {
    let Some(mut stderr) = stderr else { return };
    let mut piece = [0; 4_096];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        let room = SAID_BYTES_MAX.saturating_sub(said.len()).min(read);
        said.extend_from_slice(piece.get(..room).unwrap_or_default());
    }
}

/// A process group that ends when nobody waits for it any more.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It may be gone.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
