//! Callers of the kernel, each waiting for its answer before it asks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use comity_kernel::{Actor, Command, Kernel};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::base::{named, some_agent};

/// Shares the commands out and runs them; returns how long that took.
///
/// The callers are tasks of one thread, as in the server.
pub(crate) fn run_all<C: Command>(
    kernel: &Arc<Kernel>,
    callers: &[Actor],
    commands: Vec<C>,
) -> Duration {
    let mut lanes: Vec<Vec<C>> = callers.iter().map(|_| Vec::new()).collect();
    for (nth, command) in commands.into_iter().enumerate() {
        lanes[nth % callers.len()].push(command);
    }
    runtime().block_on(async {
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for (caller, lane) in callers.iter().cloned().zip(lanes) {
            let kernel = Arc::clone(kernel);
            tasks.spawn(async move {
                for command in lane {
                    let ticket = kernel.execute(caller.clone().into(), command);
                    ticket.await.expect("it is done");
                }
            });
        }
        tasks.join_all().await;
        started.elapsed()
    })
}

/// Runs the commands one by one on this thread; returns how long each took.
pub(crate) fn run_each<C: Command>(
    kernel: &Kernel,
    callers: &[Actor],
    commands: Vec<C>,
) -> Vec<Duration> {
    let timed = |(command, caller): (_, &Actor)| {
        let started = Instant::now();
        let ticket = kernel.execute(caller.clone().into(), command);
        ticket.wait().expect("it is done");
        started.elapsed()
    };
    commands
        .into_iter()
        .zip(callers.iter().cycle())
        .map(timed)
        .collect()
}

/// Callers that keep the writer busy until they are stopped.
pub(crate) struct Busy {
    enough: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Busy {
    /// Starts all callers on a thread of their own; the agents' numbers go on from `number`.
    pub(crate) fn start(
        kernel: &Arc<Kernel>,
        callers: &[Actor],
        number: &Arc<AtomicUsize>,
    ) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for caller in callers {
            let (kernel, enough, number) =
                (Arc::clone(kernel), Arc::clone(&enough), Arc::clone(number));
            let (caller, agent) = (caller.clone(), some_agent());
            tasks.push(async move {
                while !enough.load(Ordering::Relaxed) {
                    let command = named(&agent, number.fetch_add(1, Ordering::Relaxed));
                    let ticket = kernel.execute(caller.clone().into(), command);
                    ticket.await.expect("the agent is registered");
                }
            });
        }
        let run = move || {
            runtime().block_on(async move {
                tasks.into_iter().collect::<JoinSet<()>>().join_all().await;
            });
        };
        Self {
            enough,
            thread: std::thread::spawn(run),
        }
    }

    /// Lets the callers finish what they wait for.
    pub(crate) fn stop(self) {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.join().expect("the callers end");
    }
}

pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}
