//! What a command writes: into a file of bounded size, and its last line for people.

use std::fs::File;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::folder::create;

/// The largest file of output.
const LOG_BYTES_MAX: usize = 64 << 20;
/// What is written when it is full.
const CUT: &[u8] = b"\n[comity: the output is longer and was cut here]\n";
/// How much of a line is kept for people.
const LINE_BYTES_MAX: usize = 256;
const BUFFER_BYTES: usize = 64 << 10;

/// Output that is being taken.
pub(super) struct Capture {
    last: Arc<Mutex<Vec<u8>>>,
    done: Receiver<()>,
}

impl Capture {
    /// Takes everything from a pipe, on a thread of its own, until its writers are gone.
    pub(super) fn start(pipe: PipeReader, log: &Path) -> io::Result<Self> {
        let log = Log::new(create(log)?);
        let (done, ended) = mpsc::channel();
        let last = Arc::<Mutex<_>>::default();
        let lines = Lines::of(&last);
        std::thread::Builder::new().spawn(move || {
            drain(pipe, log, lines);
            let _ = done.send(());
        })?;
        Ok(Self { last, done: ended })
    }

    /// Returns the last line that says something, cut and with its bad bytes replaced.
    pub(super) fn last_line(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&last).trim().to_owned()
    }

    /// Waits until everything is taken.
    pub(super) fn settle(&self, patience: Duration) {
        let _ = self.done.recv_timeout(patience);
    }
}

/// Reads on whatever happens to the file: a command must never wait for its output to be written.
fn drain(mut pipe: PipeReader, mut log: Log, mut lines: Lines) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => buffer.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        log.take(read);
        lines.take(read);
    }
}

/// The file, as far as there is room in it and on the disk.
struct Log {
    file: Option<File>,
    room: usize,
}

impl Log {
    const fn new(file: File) -> Self {
        Self {
            file: Some(file),
            room: LOG_BYTES_MAX,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        let (fits, is_cut) = match bytes.get(..self.room) {
            Some(fits) => (fits, bytes.len() > self.room),
            None => (bytes, false),
        };
        self.room -= fits.len();
        let written = file.write_all(fits);
        if is_cut && written.is_ok() {
            let _ = file.write_all(CUT);
        }
        if is_cut || written.is_err() {
            self.file = None;
        }
    }
}

/// Finds the last line that says something.
struct Lines {
    current: Vec<u8>,
    last: Arc<Mutex<Vec<u8>>>,
}

impl Lines {
    fn of(last: &Arc<Mutex<Vec<u8>>>) -> Self {
        Self {
            current: Vec::new(),
            last: Arc::clone(last),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let room = LINE_BYTES_MAX.saturating_sub(self.current.len());
            self.current.extend(part.iter().take(room));
            if !part.ends_with(b"\n") && !part.ends_with(b"\r") {
                continue;
            }
            if !self.current.trim_ascii().is_empty() {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.clone_from(&self.current);
            }
            self.current.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_something_is_kept() {
        let last = Arc::default();
        let mut lines = Lines::of(&last);
        let mut after = |bytes: &[u8]| {
            lines.take(bytes);
            String::from_utf8_lossy(&last.lock().unwrap()).into_owned()
        };
        assert_eq!(after(b"one"), "");
        assert_eq!(after(b" more\ntwo\n\n  \n"), "two\n");
        assert_eq!(after(b"50 %\r60 %"), "50 %\r");
        let long = after(&vec![b'x'; 100_000]);
        assert_eq!(long, "50 %\r");
        assert_eq!(after(b"\n").len(), LINE_BYTES_MAX);
    }

    #[test]
    fn output_is_cut_and_the_writer_never_waits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (reader, mut writer) = io::pipe().unwrap();
        let capture = Capture::start(reader, &path).unwrap();
        let piece = vec![b'a'; 1 << 20];
        for _ in 0..66 {
            writer.write_all(&piece).unwrap();
        }
        writer.write_all(b"\nthe end\n").unwrap();
        drop(writer);
        capture.settle(Duration::from_mins(1));
        assert_eq!(capture.last_line(), "the end");
        let log = std::fs::read(&path).unwrap();
        assert_eq!(log.len(), LOG_BYTES_MAX + CUT.len());
        assert!(log.ends_with(CUT));
    }

    #[test]
    fn a_full_disk_does_not_stop_the_writer() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (_, ended) = mpsc::channel();
        let last = Arc::default();
        let lines = Lines::of(&last);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let taking = std::thread::spawn(move || drain(reader, Log::new(full), lines));
        writer.write_all(&vec![b'\n'; 1 << 20]).unwrap();
        writer.write_all(b"still here\n").unwrap();
        drop(writer);
        taking.join().unwrap();
        let capture = Capture { last, done: ended };
        assert_eq!(capture.last_line(), "still here");
    }
}
