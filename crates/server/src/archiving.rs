//! The archive of a server: written in the background, on no request's path, whatever `git` does.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use comity_archive::export::export;
use comity_archive::store::{Archiver, Settings};
use comity_domain::Seq;
use comity_domain::limits::{ARCHIVE_BATCH_DEFAULT, ARCHIVE_INTERVAL_MS_DEFAULT};
use comity_kernel::ambient::Ambient;
use comity_kernel::archive::{
    ArchiveState, ArchiveStatus, Archivist, Exported, Exporting, Rebuilt, Retried, Verified,
};
use comity_kernel::datadir::DataDir;
use comity_kernel::{Error, Kernel};
use tokio::sync::watch;

/// How long it rests after a failure, and after many in a row.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How often an archive that has nothing to do looks whether it is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a stop waits for the piece that is being written; what comes of it is found out later.
const END: Duration = Duration::from_secs(1);

/// Where an archive lies, and how long changes are gathered before they are written.
#[derive(Clone, Debug)]
pub struct Archiving {
    /// Where it lies.
    pub place: Settings,
    /// How long to gather after something happened.
    pub interval: Duration,
}

impl Archiving {
    /// The archive of a data directory, written as usual.
    pub fn of(data: &DataDir) -> Self {
        Self {
            place: Settings {
                repository: data.archive(),
                lock: data.archive_lock(),
                batch_max: ARCHIVE_BATCH_DEFAULT,
            },
            interval: Duration::from_millis(ARCHIVE_INTERVAL_MS_DEFAULT.unsigned_abs()),
        }
    }
}

/// Who writes the archive of a server, if somebody does.
pub(crate) enum Archive {
    Followed {
        archiver: Arc<Archiver>,
        interval: Duration,
    },
    Off,
}

impl Archive {
    /// Has the kernel's questions about the archive answered.
    pub(crate) fn open(
        kernel: &Arc<Kernel>,
        archiving: Option<&Archiving>,
        ambient: &Ambient,
    ) -> Self {
        let Some(archiving) = archiving else {
            kernel.attach(Arc::new(Off::of(kernel)));
            return Self::Off;
        };
        let place = archiving.place.clone();
        let archiver = Arc::new(Archiver::new(Arc::clone(kernel), ambient.clone(), place));
        kernel.attach(Arc::new(Answering(Arc::downgrade(&archiver))));
        Self::Followed {
            archiver,
            interval: archiving.interval,
        }
    }

    /// Asks how the archive stands; it may take a while.
    pub(crate) fn status(&self) -> Result<ArchiveStatus, Error> {
        match self {
            Self::Followed { archiver, .. } => status_of(archiver),
            Self::Off => Ok(Off::standing()),
        }
    }

    /// Follows the log until told to stop.
    pub(crate) fn follow(
        &self,
        head: watch::Receiver<Seq>,
        stopped: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let following = match self {
            Self::Followed { archiver, interval } => Some(Following {
                archiver: Arc::clone(archiver),
                interval: *interval,
                head,
                stopped,
            }),
            Self::Off => None,
        };
        async move {
            if let Some(following) = following {
                following.run().await;
            }
        }
    }
}

/// The background work itself: it takes no input and repeats nothing that is done.
struct Following {
    archiver: Arc<Archiver>,
    interval: Duration,
    head: watch::Receiver<Seq>,
    stopped: watch::Receiver<bool>,
}

impl Following {
    async fn run(mut self) {
        let mut stopped = self.stopped.clone();
        let (mut pause, mut last) = (PAUSE_MIN, String::new());
        loop {
            self.head.borrow_and_update();
            let Some(done) = self.catch_up().await else {
                return;
            };
            let rest = match done {
                Ok(()) => {
                    (pause, last) = (PAUSE_MIN, String::new());
                    tokio::select! {
                        changed = self.head.changed() => if changed.is_err() { return },
                        () = disturbed(&self.archiver) => {}
                        () = told(&mut stopped) => return,
                    }
                    self.interval
                }
                Err(reason) => {
                    // It may last for hours; it is told once.
                    if reason != last {
                        tracing::warn!(reason, "the archive is not written; it is tried again");
                        last = reason;
                    }
                    let rest = pause;
                    pause = (pause * 2).min(PAUSE_MAX);
                    rest
                }
            };
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = told(&mut stopped) => return,
            }
        }
    }

    /// Archives what there is, on a thread of its own; `None` once it is told to stop.
    async fn catch_up(&self) -> Option<Result<(), String>> {
        let (archiver, stop) = (Arc::clone(&self.archiver), self.stopped.clone());
        let mut work = tokio::task::spawn_blocking(move || {
            while !*stop.borrow() {
                let cut = archiver.step().map_err(|error| error.to_string())?;
                if !cut.more {
                    break;
                }
            }
            Ok(())
        });
        let mut stopped = self.stopped.clone();
        tokio::select! {
            done = &mut work => Some(done.unwrap_or_else(|error| Err(error.to_string()))),
            () = told(&mut stopped) => {
                // What is not done by then is left to itself: a commit is there whole or not at all.
                let _ = tokio::time::timeout(END, work).await;
                None
            }
        }
    }
}

/// Waits until an archive is not as it was left.
async fn disturbed(archiver: &Arc<Archiver>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let archiver = Arc::clone(archiver);
        let looked = tokio::task::spawn_blocking(move || archiver.is_as_left());
        if !looked.await.unwrap_or(false) {
            return;
        }
    }
}

/// Waits until it is told to stop; whoever would tell it may be gone.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Tells how an archiver stands that has a server: before its first step is done it follows too.
fn status_of(archiver: &Archiver) -> Result<ArchiveStatus, Error> {
    let mut status = archiver.status()?;
    if status.state == ArchiveState::Resting {
        status.state = ArchiveState::Following;
    }
    Ok(status)
}

/// Answers for an archiver as long as there is one.
///
/// The kernel must not keep it alive: it keeps the kernel alive.
struct Answering(Weak<Archiver>);

impl Answering {
    fn archiver(&self) -> Result<Arc<Archiver>, Error> {
        self.0.upgrade().ok_or_else(|| Error::Unusable {
            what: "the server stops".to_owned(),
        })
    }
}

impl Archivist for Answering {
    fn status(&self) -> Result<ArchiveStatus, Error> {
        let archiver = self.archiver()?;
        status_of(&archiver)
    }

    fn verify(&self) -> Result<Verified, Error> {
        self.archiver()?.verify()
    }

    fn rebuild(&self) -> Result<Rebuilt, Error> {
        self.archiver()?.rebuild()
    }

    fn retry(&self) -> Result<Retried, Error> {
        self.archiver()?.retry()
    }

    fn export(&self, exporting: &Exporting) -> Result<Exported, Error> {
        self.archiver()?.export(exporting)
    }
}

/// Answers for an archive that is switched off; exports need none.
///
/// It must not keep the kernel alive, which keeps it.
pub struct Off(Weak<Kernel>);

impl Off {
    /// Answers for the archive of a kernel.
    pub fn of(kernel: &Arc<Kernel>) -> Self {
        Self(Arc::downgrade(kernel))
    }

    /// Tells how it stands.
    fn standing() -> ArchiveStatus {
        ArchiveStatus {
            state: ArchiveState::Off,
            detail: "it is switched off: `archive.enabled` in `comity.toml`".to_owned(),
            repository: String::new(),
            through: Seq::ZERO,
            lag: 0,
            oldest_at: None,
            redacted_since_rebuild: 0,
            degraded_since: None,
            quarantined_count: 0,
            quarantined: Vec::new(),
        }
    }

    /// Says why nothing can be done with it.
    pub fn refusal() -> Error {
        Error::Unusable {
            what: "the archive is switched off (`archive.enabled` in `comity.toml`)".to_owned(),
        }
    }
}

impl Archivist for Off {
    fn status(&self) -> Result<ArchiveStatus, Error> {
        Ok(Self::standing())
    }

    fn verify(&self) -> Result<Verified, Error> {
        Err(Self::refusal())
    }

    fn rebuild(&self) -> Result<Rebuilt, Error> {
        Err(Self::refusal())
    }

    fn retry(&self) -> Result<Retried, Error> {
        Err(Self::refusal())
    }

    fn export(&self, exporting: &Exporting) -> Result<Exported, Error> {
        let kernel = self.0.upgrade().ok_or_else(|| Error::Unusable {
            what: "the database is closed".to_owned(),
        })?;
        export(&kernel, exporting)
    }
}
