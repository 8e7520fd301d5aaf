//! The server that tells hooks: elected, and at work as long as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use comity_domain::limits::{HOOK_TRIES_AT_ONCE, HOOK_TRIES_MORE};
use comity_domain::token::to_hex;
use comity_domain::{HookId, Seq};
use comity_kernel::ambient::Ambient;
use comity_kernel::event::{Entry, LogAfter};
use comity_kernel::hook::queue::{Ended, Taken, Tried, Waiting};
use comity_kernel::hook::work::{Due, HookEvent, HookTask, HookWork, Target, Work};
use comity_kernel::{Actor, Error, Kernel};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

use super::call::{Failed, call};
use super::program;
use super::{Commands, Hooking};
use crate::outbound::Outbound;

/// How often it is looked who tells the hooks, and what has rested.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the office is renewed.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How long after a renewal a try may begin: it must end before another server may take over.
const GOOD_FOR: Duration = Duration::from_secs(8);
/// How long a stop waits for tries that are under way.
const END: Duration = Duration::from_millis(500);
/// Events that are not wanted and need not be noted at once.
const UNNOTED_MAX: i64 = 1_000;
/// How long they need not be.
const UNNOTED_FOR: Duration = Duration::from_secs(10);

/// An event on its way to a hook.
pub(super) struct Letter {
    pub(super) hook: HookId,
    pub(super) seq: Seq,
    pub(super) kind: String,
    pub(super) json: String,
}

impl Letter {
    /// Returns what stays the same however often it is told.
    pub(super) fn delivery(&self) -> String {
        format!("{}-{}", self.hook, self.seq)
    }
}

/// The background work of a server that may be the one that tells hooks.
pub(crate) struct Telling {
    kernel: Arc<Kernel>,
    ambient: Ambient,
    hooking: Hooking,
    outbound: Outbound,
    /// A random name of this process.
    holder: String,
    renewed: Option<Instant>,
    /// What the office is held with; everything below belongs to it.
    fence: Option<i64>,
    /// How far each hook's part of the log was looked through, noted or not.
    seen: BTreeMap<HookId, (Seq, Instant)>,
    tries: JoinSet<Tried>,
    /// The tries under way.
    flying: BTreeMap<(HookId, Seq), AbortHandle>,
    /// Hooks whose last try failed: they get one at a time.
    ailing: BTreeMap<HookId, bool>,
    /// What came of tries and is not written down.
    tried: Vec<Tried>,
    /// Hooks whose next events were pruned.
    stuck: BTreeSet<HookId>,
}

impl Telling {
    pub(crate) fn new(kernel: Arc<Kernel>, ambient: Ambient, hooking: Hooking) -> Self {
        Self {
            kernel,
            holder: to_hex(&ambient.random::<16>()),
            ambient,
            hooking,
            outbound: Outbound::new(hooking.reach),
            renewed: None,
            fence: None,
            seen: BTreeMap::new(),
            tries: JoinSet::new(),
            flying: BTreeMap::new(),
            ailing: BTreeMap::new(),
            tried: Vec::new(),
            stuck: BTreeSet::new(),
        }
    }

    /// Tells hooks until told to stop.
    pub(crate) async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut head = self.kernel.head();
        let mut last = String::new();
        loop {
            head.borrow_and_update();
            let pause = match self.step().await {
                Ok(pause) => {
                    last.clear();
                    pause
                }
                Err(error) => {
                    // What was looked through and could not be noted is looked through again.
                    self.seen.clear();
                    let reason = error.to_string();
                    // It may last; it is told once.
                    if reason != last {
                        tracing::warn!(reason, "hooks are not told; it is tried again");
                        last = reason;
                    }
                    LOOK_EVERY
                }
            };
            tokio::select! {
                changed = head.changed() => if changed.is_err() { break },
                Some(ended) = self.tries.join_next() => self.note(ended),
                () = tokio::time::sleep(pause) => {}
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        self.end().await;
    }

    /// Does everything that can be done now; returns how long nothing will be, if nothing happens.
    async fn step(&mut self) -> Result<Duration, Error> {
        while let Some(ended) = self.tries.try_join_next() {
            self.note(ended);
        }
        let each = i64::try_from(HOOK_TRIES_AT_ONCE * 2).unwrap_or(i64::MAX);
        let work = self.ask(HookWork { each }).await?;
        self.ambient.failpoints.hit("hooks.work_read")?;
        if work.hooks.is_empty() && self.flying.is_empty() {
            // Nobody wants to be told: nothing is written, not even who would do it.
            return Ok(LOOK_EVERY);
        }
        let Some(fence) = self.office(&work).await? else {
            self.lay_down();
            return Ok(LOOK_EVERY);
        };
        if self.fence != Some(fence) {
            // Somebody else may have told meanwhile: what is known is from before, the work too.
            let renewed = self.renewed;
            self.lay_down();
            (self.renewed, self.fence) = (renewed, Some(fence));
            return Ok(Duration::ZERO);
        }
        self.forget_removed(&work);
        let (taken, more) = self.look_through(&work).await?;
        let wrote = !taken.is_empty() || !self.tried.is_empty();
        if wrote {
            self.ambient.failpoints.hit("hooks.before_move")?;
            let tried = std::mem::take(&mut self.tried);
            let written = self
                .kernel
                .move_hooks(fence, taken, tried.clone())
                .await
                .inspect_err(|_| self.tried = tried);
            written?;
            self.ambient.failpoints.hit("hooks.after_move")?;
        }
        let work = if wrote {
            self.ask(HookWork { each }).await?
        } else {
            work
        };
        if work.deliverer.as_ref().map(|present| present.fence) != Some(fence) {
            // What was to be written down was not.
            self.lay_down();
            return Ok(Duration::ZERO);
        }
        self.begin(&work);
        let next_us = work.hooks.iter().filter_map(|hook| hook.next_us).min();
        let next = next_us.map_or(LOOK_EVERY, |us| Duration::from_micros(us.unsigned_abs()));
        Ok(if more {
            Duration::ZERO
        } else {
            next.min(LOOK_EVERY)
        })
    }

    async fn ask<Q: comity_kernel::Query>(&self, query: Q) -> Result<Q::Answer, Error> {
        Ok(self.kernel.query(Actor::System, query).await?.answer)
    }

    /// Holds the office, if it can be had; returns the fence it is held with.
    async fn office(&mut self, work: &Work) -> Result<Option<i64>, Error> {
        let mine = work.deliverer.as_ref();
        let mine = mine.filter(|deliverer| deliverer.holder == self.holder);
        if let (Some(mine), Some(renewed)) = (mine, self.renewed)
            && renewed.elapsed() < RENEW_EVERY
        {
            return Ok(Some(mine.fence));
        }
        let asked = Instant::now();
        self.kernel.stand_for_hooks(self.holder.clone()).await?;
        let present = self.ask(HookWork { each: 0 }).await?.deliverer;
        let mine = present.filter(|deliverer| deliverer.holder == self.holder);
        self.renewed = mine.as_ref().map(|_| asked);
        Ok(mine.map(|mine| mine.fence))
    }

    /// Looks through what is new in the log for each hook, a page each.
    async fn look_through(&mut self, work: &Work) -> Result<(Vec<Taken>, bool), Error> {
        let mut pages: BTreeMap<Seq, Arc<Vec<Entry>>> = BTreeMap::new();
        let (mut taken, mut more) = (Vec::new(), false);
        let head = *self.kernel.head().borrow();
        for hook in work.hooks.iter().filter(|hook| hook.room > 0) {
            let (seen, noted) = self.place(hook);
            if seen >= head {
                if seen > hook.through && noted.elapsed() >= UNNOTED_FOR {
                    self.seen.insert(hook.id, (seen, Instant::now()));
                    taken.push(Taken {
                        hook: hook.id,
                        from: hook.through,
                        through: seen,
                        wanted: Vec::new(),
                    });
                }
                continue;
            }
            let page = if let Some(page) = pages.get(&seen) {
                Arc::clone(page)
            } else {
                let page = match self.ask(LogAfter { since: seen }).await {
                    Err(error @ Error::Pruned { .. }) => {
                        self.stands_still(hook.id, &error);
                        continue;
                    }
                    page => Arc::new(page?),
                };
                pages.insert(seen, Arc::clone(&page));
                page
            };
            let Some((through, wanted)) = wanted(hook, &page) else {
                continue;
            };
            more |= through < head;
            let idle = wanted.is_empty()
                && through.get() - hook.through.get() < UNNOTED_MAX
                && noted.elapsed() < UNNOTED_FOR;
            if idle {
                self.seen.insert(hook.id, (through, noted));
            } else {
                self.seen.insert(hook.id, (through, Instant::now()));
                taken.push(Taken {
                    hook: hook.id,
                    from: hook.through,
                    through,
                    wanted,
                });
            }
        }
        Ok((taken, more))
    }

    /// Says once of a hook that what it would be told next is gone; the others go on.
    fn stands_still(&mut self, hook: HookId, error: &Error) {
        if self.stuck.insert(hook) {
            let reason = error.to_string();
            tracing::warn!(hook.id = hook.get(), reason, "a hook stands still");
        }
    }

    /// How far a hook's part of the log was looked through, and when that was noted.
    fn place(&mut self, hook: &HookTask) -> (Seq, Instant) {
        let fresh = (hook.through, Instant::now());
        let place = self.seen.entry(hook.id).or_insert(fresh);
        if place.0 < hook.through {
            *place = fresh;
        }
        *place
    }

    /// Begins tries, as many as may be: one for each hook, and more for those that do well.
    fn begin(&mut self, work: &Work) {
        let fit = self.renewed.is_some_and(|at| at.elapsed() < GOOD_FOR);
        if !fit {
            return;
        }
        for hook in &work.hooks {
            for due in &hook.due {
                let here = self.flying.keys().filter(|(of, _)| *of == hook.id).count();
                let hooks = self.flying.keys().map(|(of, _)| of);
                let hooks = hooks.collect::<BTreeSet<_>>().len();
                let ailing = self.ailing.get(&hook.id).copied().unwrap_or_default();
                let full = match here {
                    0 => false,
                    _ if ailing => true,
                    _ => here >= HOOK_TRIES_AT_ONCE || self.flying.len() - hooks >= HOOK_TRIES_MORE,
                };
                if full {
                    break;
                }
                // What was told and is not written down yet still waits in the tables.
                let known = self
                    .tried
                    .iter()
                    .any(|one| (one.hook, one.seq) == (hook.id, due.seq));
                if !known && !self.flying.contains_key(&(hook.id, due.seq)) {
                    self.fly(hook, *due);
                }
            }
        }
    }

    fn fly(&mut self, hook: &HookTask, due: Due) {
        let one = Try {
            kernel: Arc::clone(&self.kernel),
            ambient: self.ambient.clone(),
            hooking: self.hooking,
            outbound: self.outbound.clone(),
            hook: hook.id,
            target: hook.target.clone(),
            due,
        };
        let handle = self.tries.spawn(one.run());
        self.flying.insert((hook.id, due.seq), handle);
    }

    /// Notes how a try ended; one that was broken off has nothing to tell.
    fn note(&mut self, ended: Result<Tried, JoinError>) {
        let tried = match ended {
            Ok(tried) => tried,
            Err(broken) => {
                self.flying.retain(|_, handle| handle.id() != broken.id());
                return;
            }
        };
        if self.flying.remove(&(tried.hook, tried.seq)).is_none() {
            return;
        }
        let failed = !matches!(tried.ended, Ended::Told);
        self.ailing.insert(tried.hook, failed);
        self.tried.push(tried);
    }

    /// Breaks off what is under way for hooks that are no more.
    fn forget_removed(&mut self, work: &Work) {
        let lives = |hook: HookId| work.hooks.iter().any(|task| task.id == hook);
        self.flying.retain(|(hook, _), handle| {
            let keep = lives(*hook);
            if !keep {
                handle.abort();
            }
            keep
        });
        self.seen.retain(|hook, _| lives(*hook));
        self.ailing.retain(|hook, _| lives(*hook));
        self.stuck.retain(|hook| lives(*hook));
        self.tried.retain(|tried| lives(tried.hook));
    }

    /// Breaks off and forgets everything: another server does it, or did.
    fn lay_down(&mut self) {
        // With those that ended and were not noted.
        self.tries = JoinSet::new();
        self.flying.clear();
        self.seen.clear();
        self.tried.clear();
        (self.renewed, self.fence) = (None, None);
    }

    /// Lets what is under way end, but not for long, and leaves the office.
    async fn end(mut self) {
        let _ = tokio::time::timeout(END, async {
            while let Some(ended) = self.tries.join_next().await {
                self.note(ended);
            }
        })
        .await;
        if self.renewed.is_none() {
            return;
        }
        let last = async {
            if let Ok(Work {
                deliverer: Some(present),
                ..
            }) = self.ask(HookWork { each: 0 }).await
                && present.holder == self.holder
                && self.fence == Some(present.fence)
            {
                let tried = std::mem::take(&mut self.tried);
                // What cannot be written down is told again.
                let _ = self
                    .kernel
                    .move_hooks(present.fence, Vec::new(), tried)
                    .await;
                let _ = self.kernel.resign_from_hooks(self.holder.clone()).await;
            }
        };
        let _ = tokio::time::timeout(END, last).await;
    }
}

/// Finds what a hook wants of a page, as much as there is room for, and how far that goes.
fn wanted(hook: &HookTask, page: &[Entry]) -> Option<(Seq, Vec<Waiting>)> {
    let mut found = Vec::new();
    let mut through = None;
    for entry in page {
        if hook.filter.matches(entry) {
            if i64::try_from(found.len()).unwrap_or(i64::MAX) >= hook.room {
                break;
            }
            let (kind, id) = entry.subject();
            found.push(Waiting {
                seq: entry.seq(),
                subject: (kind.to_owned(), id),
            });
        }
        through = Some(entry.seq());
    }
    through.map(|through| (through, found))
}

/// One try.
struct Try {
    kernel: Arc<Kernel>,
    ambient: Ambient,
    hooking: Hooking,
    outbound: Outbound,
    hook: HookId,
    target: Target,
    due: Due,
}

impl Try {
    async fn run(self) -> Tried {
        let ended = match self.tell().await {
            Ok(()) => Ended::Told,
            Err(Failed::Never(reason)) => Ended::GivenUp { reason },
            Err(Failed::Again(reason))
                if self.due.attempts + 1 >= self.hooking.pace.attempts_max =>
            {
                Ended::GivenUp { reason }
            }
            Err(Failed::Again(reason)) => {
                let dice = u16::from_le_bytes(self.ambient.random());
                let rest_us = self.hooking.pace.rest_us(self.due.attempts, dice);
                Ended::Failed { reason, rest_us }
            }
        };
        Tried {
            hook: self.hook,
            seq: self.due.seq,
            ended,
        }
    }

    async fn tell(&self) -> Result<(), Failed> {
        let event = HookEvent { seq: self.due.seq };
        let event = self.kernel.query(Actor::System, event).await;
        let event = event.map_err(|error| match error {
            Error::Pruned { .. } => Failed::Never(error.to_string()),
            _ => Failed::Again(error.to_string()),
        })?;
        let Some(event) = event.answer else {
            return Err(Failed::Never(
                "the event is not in the log any more".to_owned(),
            ));
        };
        let letter = Letter {
            hook: self.hook,
            seq: self.due.seq,
            kind: event.kind,
            json: event.json,
        };
        let longest = self.hooking.pace.longest;
        let told = match &self.target {
            Target::Url(url, secret) => {
                let at = self.ambient.clock.read(None).wall;
                call(&self.outbound, url, secret, &letter, at, longest).await
            }
            Target::Command(_) if self.hooking.commands == Commands::Refused => {
                let reason = "programs are not run: `[hooks] allow_commands` is off";
                Err(Failed::Again(reason.to_owned()))
            }
            Target::Command(command) => {
                let run = program::run(command, &letter, longest).await;
                run.map_err(Failed::Again)
            }
        };
        // A test stops the world here: told, and not written down.
        let hit = self.ambient.failpoints.hit("hooks.told");
        hit.map_err(|error| Failed::Again(error.to_string()))?;
        told
    }
}
