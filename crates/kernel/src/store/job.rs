//! Commands, upkeep and queries as the threads see them: something to run, then to answer.

use comity_domain::Seq;
use comity_domain::limits::IDEMPOTENCY_KEEP_US;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::{Row, Rows, StoreError};
use crate::actor::{Actor, Caller, IdempotencyKey, Party};
use crate::agent::table::stored_silence_us;
use crate::ambient::Ambient;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::line::Mark;
use crate::params;
use crate::query::Query;
use crate::ticket::{AsOf, Reply};
use crate::token::table;
use crate::tx::{Batch, Read, Snapshot, UpkeepTx, WriteTx};

/// Whether what a job did in its savepoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    No,
}

/// Something for the writer to run; it may be run again, and is answered once.
pub(crate) trait Job: Send {
    /// Runs inside a savepoint and keeps its outcome to itself.
    fn attempt(&mut self, batch: &mut Batch<'_>) -> Kept;

    /// Replaces the outcome by a failure.
    fn fail(&mut self, error: Error);

    /// Tells the caller the outcome.
    fn answer(self: Box<Self>, ambient: &Ambient);
}

/// Something for a reader to run.
pub(crate) trait ReadJob: Send {
    /// Runs on a snapshot and keeps its outcome to itself.
    fn attempt(&mut self, snapshot: &mut Snapshot<'_>);

    /// Replaces the outcome by a failure.
    fn fail(&mut self, error: Error);

    /// Tells the caller the outcome.
    fn answer(self: Box<Self>, ambient: &Ambient);
}

/// Writes upkeep: tables off the log, never an event.
pub(crate) trait Upkeep: Send + 'static {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError>;
}

type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// A command with its caller.
pub(crate) struct CommandJob<C: Command> {
    caller: Caller,
    command: C,
    reply: Answer<Reply<C::Answer>>,
    outcome: Result<Reply<C::Answer>, Error>,
    audience: Audience,
}

/// Whether a command is done for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Its caller may be gone: it finds the answer under its idempotency key.
    Any,
    /// Only as long as somebody listens: a lease that nobody knows of helps nobody (3.5). And only
    /// as long as nothing more was let go, if others want the same and came before.
    Present {
        /// What was let go last.
        mark: Option<Mark>,
    },
}

impl<C: Command> CommandJob<C> {
    pub(crate) fn new(
        caller: Caller,
        command: C,
        reply: Answer<Reply<C::Answer>>,
        audience: Audience,
    ) -> Self {
        Self {
            caller,
            command,
            reply,
            outcome: Err(Error::Indeterminate),
            audience,
        }
    }

    fn decide(&self, batch: &mut Batch<'_>) -> Result<Reply<C::Answer>, Stop> {
        let request_sha256 = match &self.caller.key {
            Some(_) => hash_of(&self.command)?,
            None => [0; 32],
        };
        let mut tx = WriteTx::new(batch, &self.caller.actor, self.caller.correlation.as_ref());
        let (actor, first) = admit(&mut tx, &self.caller, C::NAME)?;
        actor.must_be_one_of(C::NAME, C::WHO)?;
        hear(&actor, &mut tx)?;
        if let Some(first) = first {
            return Ok(first.replay::<C>(&request_sha256)?);
        }
        let mut tx = WriteTx::new(batch, &actor, self.caller.correlation.as_ref());
        let answer = self.command.decide(&mut tx)?;
        let seq = tx.head();
        if let Some(key) = &self.caller.key
            && C::is_kept(&answer)
        {
            let text = serde_json::to_string(&answer)?;
            let lease = batch.now.lease;
            batch.write(
                "insert into idempotency (credential, operation, key, request_sha256, answer, seq, lease_us)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 on conflict (credential, operation, key) do update
                 set request_sha256 = excluded.request_sha256, answer = excluded.answer,
                     seq = excluded.seq, lease_us = excluded.lease_us",
                params![
                    &self.caller.actor.credential().to_string(),
                    C::NAME,
                    &**key,
                    &request_sha256,
                    &text,
                    seq,
                    lease,
                ],
                Rows::Exactly(1),
            )?;
        }
        Ok(Reply {
            answer,
            seq,
            replayed: false,
        })
    }
}

impl<C: Command> CommandJob<C> {
    /// Decides unless something was let go since: then those before it in line look first.
    fn in_turn(&self, batch: &mut Batch<'_>, mark: Mark) -> Result<Reply<C::Answer>, Stop> {
        let mut tx = WriteTx::new(batch, &self.caller.actor, None);
        if mark.is_passed(&mut tx)? {
            let conflicts = Vec::new();
            return Err(Error::ReservationConflict { conflicts }.into());
        }
        self.decide(batch)
    }
}

impl<C: Command> Job for CommandJob<C> {
    fn attempt(&mut self, batch: &mut Batch<'_>) -> Kept {
        let decided = match self.audience {
            Audience::Present { .. } if self.reply.is_closed() => return Kept::No,
            Audience::Present { mark: Some(mark) } => self.in_turn(batch, mark),
            Audience::Present { mark: None } | Audience::Any => self.decide(batch),
        };
        let (kept, outcome) = match decided {
            Ok(reply) => (Kept::Yes, Ok(reply)),
            Err(Stop::Refused(error)) => (Kept::Yes, Err(error)),
            Err(Stop::Failed(error)) => (Kept::No, Err(error)),
        };
        self.outcome = outcome;
        kept
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Err(error);
    }

    fn answer(self: Box<Self>, ambient: &Ambient) {
        // A caller that no longer listens finds its answer under its idempotency key.
        let _ = self.reply.send(number(self.outcome, ambient));
    }
}

/// Any call with a good credential counts as a sign of life.
fn hear(actor: &Actor, read: &mut impl Read) -> Result<(), StoreError> {
    let Actor::Agent { agent, .. } = actor else {
        return Ok(());
    };
    let is_news = !read.presence().knows(*agent);
    read.presence().touch(*agent, None, None);
    if is_news && let Some(ago_us) = stored_silence_us(read, *agent)? {
        read.presence().is_stored(*agent, ago_us.max(0));
    }
    Ok(())
}

/// The first answer to an idempotency key.
struct First {
    request_sha256: Vec<u8>,
    answer: String,
    seq: i64,
}

impl First {
    /// Answers again, unless it was the answer to another request.
    fn replay<C: Command>(&self, request_sha256: &[u8; 32]) -> Result<Reply<C::Answer>, Error> {
        if self.request_sha256 != request_sha256 {
            return Err(Error::IdempotencyMismatch { operation: C::NAME });
        }
        Ok(Reply {
            answer: serde_json::from_str(&self.answer)?,
            seq: Seq::new(self.seq),
            replayed: true,
        })
    }
}

/// Asks whether a command was answered already under its caller's key.
pub(crate) struct Answered<C> {
    pub(crate) key: IdempotencyKey,
    pub(crate) command: C,
}

impl<C: Command> Query for Answered<C> {
    const NAME: &'static str = C::NAME;
    const WHO: &'static [Party] = C::WHO;
    type Answer = Option<Reply<C::Answer>>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let oldest = snapshot.now().lease.micros() - IDEMPOTENCY_KEEP_US;
        let first = snapshot.row(
            "select request_sha256, answer, seq from idempotency
             where credential = ?1 and operation = ?2 and key = ?3 and lease_us > ?4",
            params![&actor.credential().to_string(), C::NAME, &*self.key, oldest,],
            first_answer,
        )?;
        let Some(first) = first.flatten() else {
            return Ok(None);
        };
        first.replay::<C>(&hash_of(&self.command)?).map(Some)
    }
}

/// Checks the credential inside the transaction and looks for a first answer: one statement.
///
/// A token revoked a moment ago must not act any more, and an agent's rights are those it has now.
fn admit(
    tx: &mut WriteTx<'_, '_>,
    caller: &Caller,
    operation: &'static str,
) -> Result<(Actor, Option<First>), Error> {
    let token = caller.actor.token();
    if token.is_none() && caller.key.is_none() {
        return Ok((caller.actor.clone(), None));
    }
    let credential = caller.actor.credential().to_string();
    let oldest = tx.now().lease.micros() - IDEMPOTENCY_KEEP_US;
    let (alive, orchestrates, first) = tx.one(
        "select t.id, a.orchestrate, i.request_sha256, i.answer, i.seq
         from (select cast(?1 as bigint) as token_id) c
         left join token t on t.id = c.token_id and t.revoked_at is null
         left join agent a on a.id = t.agent_id
         left join idempotency i on i.credential = ?2 and i.operation = ?3 and i.key = ?4
             and i.lease_us > ?5",
        params![
            token,
            &credential,
            operation,
            caller.key.as_deref().unwrap_or_default(),
            oldest,
        ],
        |row| {
            let alive: Option<i64> = row.take()?;
            let orchestrates: Option<bool> = row.take()?;
            Ok((alive.is_some(), orchestrates, first_answer(row)?))
        },
    )?;
    if token.is_some() && !alive {
        return Err(Error::Unauthorized);
    }
    let mut actor = caller.actor.clone();
    if let (Actor::Agent { orchestrate, .. }, Some(now)) = (&mut actor, orchestrates) {
        *orchestrate = now;
    }
    Ok((actor, first.filter(|_| caller.key.is_some())))
}

fn first_answer(row: &mut Row) -> Result<Option<First>, StoreError> {
    let request: Option<Vec<u8>> = row.take()?;
    let answer: Option<String> = row.take()?;
    let seq: Option<i64> = row.take()?;
    Ok(match (request, answer, seq) {
        (Some(request_sha256), Some(answer), Some(seq)) => Some(First {
            request_sha256,
            answer,
            seq,
        }),
        _ => None,
    })
}

/// Hashes the canonical request: its fields in order, maps sorted by key.
fn hash_of(command: &impl Command) -> Result<[u8; 32], Error> {
    Ok(Sha256::digest(command.asked()?).into())
}

/// Upkeep on its way through the writer.
pub(crate) struct UpkeepJob<U> {
    pub(crate) upkeep: U,
    pub(crate) reply: Answer<()>,
    pub(crate) outcome: Result<(), Error>,
}

impl<U: Upkeep> Job for UpkeepJob<U> {
    fn attempt(&mut self, batch: &mut Batch<'_>) -> Kept {
        self.outcome = self
            .upkeep
            .run(&mut UpkeepTx::new(batch))
            .map_err(Error::from);
        match self.outcome {
            Ok(()) => Kept::Yes,
            Err(_) => Kept::No,
        }
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Err(error);
    }

    fn answer(self: Box<Self>, ambient: &Ambient) {
        let _ = self.reply.send(number(self.outcome, ambient));
    }
}

/// A query with its caller.
pub(crate) struct QueryJob<Q: Query> {
    pub(crate) actor: Actor,
    pub(crate) query: Q,
    pub(crate) reply: Answer<AsOf<Q::Answer>>,
    pub(crate) outcome: Result<AsOf<Q::Answer>, Error>,
}

impl<Q: Query> QueryJob<Q> {
    /// Answers if the credential is good as of the snapshot, with the rights it has there (E5).
    fn answer_on(&self, snapshot: &mut Snapshot<'_>) -> Result<Q::Answer, Error> {
        let mut actor = self.actor.clone();
        if let Some(token) = actor.token() {
            let orchestrates = table::standing(snapshot, token)?.ok_or(Error::Unauthorized)?;
            if let Actor::Agent { orchestrate, .. } = &mut actor {
                *orchestrate = orchestrates;
            }
        }
        actor.must_be_one_of(Q::NAME, Q::WHO)?;
        hear(&actor, snapshot)?;
        self.query.run(&actor, snapshot)
    }
}

impl<Q: Query> ReadJob for QueryJob<Q> {
    fn attempt(&mut self, snapshot: &mut Snapshot<'_>) {
        let answer = self.answer_on(snapshot);
        self.outcome = answer.map(|answer| AsOf {
            answer,
            as_of_seq: snapshot.head(),
        });
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Err(error);
    }

    fn answer(self: Box<Self>, ambient: &Ambient) {
        let _ = self.reply.send(number(self.outcome, ambient));
    }
}

fn number<T>(outcome: Result<T, Error>, ambient: &Ambient) -> Result<T, Error> {
    outcome.map_err(|error| error.numbered(ambient))
}
