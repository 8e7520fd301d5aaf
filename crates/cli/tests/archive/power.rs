//! The archive's disk loses its power (D2, D6): an ext4 in a file, cut off by the kernel itself.
//!
//! `EXT4_IOC_SHUTDOWN` without a flush of the journal leaves on the disk what was there at that
//! moment; mounting it again replays the journal as after any power cut. What a disk keeps in a
//! cache of its own is not part of this. The database lies on another disk, so that its syncs
//! cannot help the archive. `scripts/campaign power-archive` makes 300 cuts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::crowd::{Crowd, Dice, PATIENCE};
use crate::git::git_at_work;
use crate::place::{Place, Server, count, run};

/// Opens the file system, says so, waits for a word and cuts it off: `_IOR('X', 125, __u32)` with 2,
/// which is "no flush of the journal".
const CUT: &str = "
import fcntl, os, struct, sys
disk = os.open(sys.argv[1], os.O_RDONLY)
print('ready', flush=True)
sys.stdin.readline()
fcntl.ioctl(disk, 0x8004587D, struct.pack('I', 2))
";

/// How much of the disk there is: the archive wants 64 MB to stay free.
const DISK_BYTES: u64 = 256 << 20;

/// A file system that can be cut off, and that goes away with its test.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    /// Makes one, or says why that cannot be done here.
    fn new(directory: &Path) -> Result<Self, String> {
        let (image, mount) = (directory.join("disk"), directory.join("mount"));
        std::fs::create_dir(&mount).unwrap();
        std::fs::File::create(&image)
            .and_then(|file| file.set_len(DISK_BYTES))
            .unwrap();
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image));
        let disk = Self { image, mount };
        disk.try_mount()?;
        Ok(disk)
    }

    fn try_mount(&self) -> Result<(), String> {
        let mut command = Command::new("mount");
        command.args(["-t", "ext4", "-o", "loop"]);
        let output = command.arg(&self.image).arg(&self.mount).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Takes it off and puts it on again; what the server left behind may still end there.
    fn mount_again(&self) {
        let started = Instant::now();
        while !Command::new("umount")
            .arg(&self.mount)
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
        {
            assert!(started.elapsed() < PATIENCE, "the disk stays in use");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.try_mount().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.mount)
            .stderr(Stdio::null())
            .status();
    }
}

/// A hand at the plug.
struct Plug(Child);

impl Plug {
    fn hold(disk: &Disk) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", CUT])
            .arg(&disk.mount)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn pull(mut self) {
        let stdin = self.0.stdin.as_mut().unwrap();
        stdin.write_all(b"now\n").unwrap();
        assert!(self.0.wait().unwrap().success(), "ext4 is not cut off");
    }
}

/// How far the database says that the archive goes; its server is dead.
fn noted(place: &Place) -> i64 {
    let sql = "select coalesce(max(through), 0) from archive";
    let mut command = Command::new("sqlite3");
    let said = run(command.arg(place.data().join("comity.db")).arg(sql));
    said.trim().parse().unwrap()
}

/// Everything up to what was noted can be read, without a gap, and what is there is whole.
fn must_hold_what_was_noted(place: &Place) -> i64 {
    let noted = noted(place);
    place.must_be_sound();
    let pieces = place.git(&["ls-tree", "-r", "--name-only", "main", "log"]);
    let span = |path: &str| -> (i64, i64) {
        let name = path.rsplit('/').next().unwrap();
        let (first, last) = name.trim_end_matches(".jsonl").split_once('-').unwrap();
        (first.parse().unwrap(), last.parse().unwrap())
    };
    let mut spans: Vec<_> = pieces.lines().map(span).collect();
    spans.sort_unstable();
    let through = spans.into_iter().fold(0, |through, (first, last)| {
        assert_eq!(first, through + 1, "an event is missing or there twice");
        last
    });
    assert!(
        through >= noted,
        "noted are events up to {noted}, there are those up to {through}"
    );
    noted
}

/// Cuts the disk off again and again, and looks at it each time before anybody else does.
fn cut(place: &Place, disk: &Disk, addr: &str, mut server: Server, cuts: usize) -> Server {
    let mut dice = Dice::new();
    let mut before = 0;
    for number in 0..cuts {
        let plug = Plug::hold(disk);
        dice.rest(300_000);
        if dice.below(2) == 0 {
            git_at_work(&server, &mut dice);
        }
        plug.pull();
        drop(server);
        disk.mount_again();
        let noted = must_hold_what_was_noted(place);
        assert!(noted >= before, "cut {number}: {noted} after {before}");
        before = noted;
        server = place.serve(addr).0;
    }
    server
}

// D2 D6
#[test]
fn what_is_noted_as_archived_survives_a_power_cut() {
    let cuts = count("COMITY_ARCHIVE_POWER_CUTS", 5);
    let started = Instant::now();
    let place = Place::new("4");
    let disk = match Disk::new(place.path()) {
        Ok(disk) => disk,
        Err(reason) => return eprintln!("skipped: no file system in a file: {reason}"),
    };
    let (server, addr) = place.serve("127.0.0.1:0");
    let crowd = Crowd::join(&place, &addr);
    place.ask(&["archive", "sync"]);
    drop(server);
    place.move_archive(&disk.mount);
    let (server, _) = place.serve(&addr);
    let (server, sent) = crowd.send_while(|| cut(&place, &disk, &addr, server, cuts));
    let messages = sent.len();
    let commits = place.must_be_right(sent);
    drop(server);
    eprintln!(
        "archive: {cuts} power cuts, {messages} messages in {commits} commits, {} s: what was noted \
         was there each time",
        started.elapsed().as_secs()
    );
}
