//! The one error of the kernel: a code for programs, a sentence and a next step for people.

mod show;

use comity_domain::json::{FieldError, NotJson};
use comity_domain::token::to_hex;
use comity_domain::{DiscoveryId, DispatchId, LeaseEnd, RunId, Seq};

use self::show::{in_the_way, refusing, still_needed, worth};
use crate::ambient::Ambient;
use crate::checkpoint::Obstacle;
use crate::gate::Examined;
use crate::reservation::Conflict;
use crate::store::{Cause, StoreError};

/// Why an operation was not done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The request is not JSON.
    #[error("the request is not JSON: {reason}")]
    NotJson {
        /// What and where.
        reason: String,
    },
    /// The request as a whole is too large.
    #[error("the request is over {bytes_max} bytes")]
    TooLarge {
        /// How large it may be.
        bytes_max: u64,
    },
    /// A field of the request breaks a rule.
    #[error("`{field}` {rule}")]
    Invalid {
        /// The field, as a path.
        field: String,
        /// The rule it breaks.
        rule: String,
    },
    /// No or a bad credential: unknown, wrong and revoked tokens look the same (S19).
    #[error("the credential is missing, unknown, wrong or revoked")]
    Unauthorized,
    /// The credential is good but not for this.
    #[error("{reason}")]
    Forbidden {
        /// Who may not do what.
        reason: String,
    },
    /// There is no such thing, or the caller may not see it.
    #[error("there is no {kind} `{name}`")]
    NotFound {
        /// The kind of thing.
        kind: &'static str,
        /// What the caller called it.
        name: String,
        /// A name that is close, if there is one the caller may see.
        near: Option<String>,
    },
    /// The name belongs to an agent whose token was not presented.
    #[error("the name `{name}` is taken by agent {agent}")]
    NameTaken {
        /// The name as its owner spells it.
        name: String,
        /// Its owner.
        agent: i64,
    },
    /// A message is addressed to somebody nobody knows; nobody is created by being written to.
    #[error("nobody here is called `{name}`")]
    UnknownRecipient {
        /// As the sender wrote it.
        name: String,
        /// A name that is close.
        near: Option<String>,
    },
    /// Every recipient's contact policy refused the message; nothing was stored.
    #[error("nobody takes this message from this sender")]
    DeliveryRefused {
        /// Each recipient and why.
        skipped: Vec<(String, String)>,
    },
    /// The agent is retired: its name stays, it takes part no more.
    #[error("agent `{name}` is retired")]
    AgentRetired {
        /// The agent's name.
        name: String,
    },
    /// Others hold what the caller wants (F2).
    #[error("{}", in_the_way(conflicts))]
    ReservationConflict {
        /// Every lease in the way.
        conflicts: Vec<Conflict>,
    },
    /// The lease is another's (F9).
    #[error("`{what}` is held by `{held_by}`")]
    NotHolder {
        /// What the lease covers.
        what: String,
        /// Its holder.
        held_by: String,
    },
    /// The lease's time was up (F9).
    #[error("the lease on `{what}` has expired")]
    LeaseExpired {
        /// What the lease covered.
        what: String,
        /// Who holds the same now.
        holders: Vec<Conflict>,
    },
    /// The lease ended before.
    #[error("the lease on `{what}` was {}", ended.as_str())]
    LeaseEnded {
        /// What the lease covered.
        what: String,
        /// How it ended.
        ended: LeaseEnd,
    },
    /// The thing changed since the caller read it.
    #[error("{expected} was expected, {present} is present")]
    VersionConflict {
        /// What the caller expected.
        expected: i64,
        /// What is there.
        present: i64,
    },
    /// The run is in another phase than the caller thinks.
    #[error("run {run} is in phase `{present}`, not `{expected}`")]
    StalePhase {
        /// The run.
        run: RunId,
        /// The phase that the caller thinks of.
        expected: String,
        /// The phase it is in.
        present: String,
    },
    /// A gate keeps a run where it is.
    #[error("the gate from `{from}` to `{to}` refuses: {}", refusing(checks))]
    GateRefused {
        /// The phase it is in.
        from: String,
        /// The phase it would enter.
        to: String,
        /// Every check of the gate, and what it found.
        checks: Vec<Examined>,
    },
    /// What is wished cannot be done to something in this state.
    #[error("{what} is {state}")]
    IllegalTransition {
        /// The thing.
        what: String,
        /// Its state.
        state: &'static str,
    },
    /// It is settled, and otherwise than the caller says.
    #[error("dispatch {dispatch} is settled: it is {state}")]
    AlreadySettled {
        /// The dispatch.
        dispatch: DispatchId,
        /// How it ended.
        state: &'static str,
    },
    /// There is such a thing already.
    #[error("{what} exists already")]
    AlreadyExists {
        /// The thing.
        what: String,
        /// Its number, if it has one.
        id: Option<i64>,
    },
    /// The discovery is not good enough to be promoted (J7).
    #[error("discovery {discovery} {}, and {threshold} is wanted", worth(*score))]
    BelowThreshold {
        /// The discovery.
        discovery: DiscoveryId,
        /// What it is worth, if somebody scored it.
        score: Option<f64>,
        /// What was wanted.
        threshold: f64,
    },
    /// The discovery became work before.
    #[error("discovery {discovery} was promoted before")]
    AlreadyPromoted {
        /// The discovery.
        discovery: DiscoveryId,
        /// What it became.
        reference: String,
    },
    /// The discovery was put aside.
    #[error("discovery {discovery} was dismissed")]
    Dismissed {
        /// The discovery.
        discovery: DiscoveryId,
    },
    /// Things would wait for each other.
    #[error("{what} would make a circle")]
    Cycle {
        /// What would.
        what: String,
    },
    /// Somebody else has taken the consumer over (I7).
    #[error("generation {given} of consumer `{consumer}` is not the present one, {present}")]
    WrongGeneration {
        /// The consumer.
        consumer: String,
        /// What the caller gave.
        given: i64,
        /// What is there.
        present: i64,
    },
    /// What the caller wants to read next is in the log no more.
    #[error("the log begins at event {oldest_seq}: what was before it is pruned")]
    Pruned {
        /// The oldest event left.
        oldest_seq: Seq,
    },
    /// Somebody still needs what would be pruned.
    #[error("{}", still_needed(by))]
    StillNeeded {
        /// Who.
        by: Vec<Obstacle>,
    },
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for a different `{operation}` request")]
    IdempotencyMismatch {
        /// The operation.
        operation: &'static str,
    },
    /// A limit on how much there may be was reached.
    #[error("{what} is limited to {limit}")]
    LimitExceeded {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The credential calls too often (S24).
    #[error("{who} calls too often")]
    RateLimited {
        /// Who.
        who: String,
        /// When the next call may come.
        retry_after_ms: u64,
    },
    /// The request was meant for another server, or made to look so (S16).
    #[error("this server is not called `{host}`")]
    WrongHost {
        /// What the caller called it.
        host: String,
    },
    /// The route exists, with other methods.
    #[error("this route does not take {method}")]
    MethodNotAllowed {
        /// The method.
        method: String,
    },
    /// The request did not arrive in time (S1).
    #[error("the request did not arrive within {seconds} s")]
    TooSlow {
        /// How long it may take.
        seconds: u64,
    },
    /// Too much waits already, or the database is held by others.
    #[error("{reason}")]
    Busy {
        /// What is in the way.
        reason: String,
    },
    /// Whoever makes vectors of texts could not.
    #[error("the embedder made no vector: {reason}")]
    EmbedderUnavailable {
        /// What it said.
        reason: String,
    },
    /// The disk is full, or too little is left.
    #[error("the disk is full")]
    StorageFull,
    /// The database went away at COMMIT: done or not done.
    #[error("the database went away at commit: the command took effect or it did not")]
    Indeterminate,
    /// A defect or an unexpected answer of the database.
    #[error("an internal error, number {id}")]
    Internal {
        /// The number under which the log has the cause.
        id: String,
        /// The cause, for the log.
        #[source]
        cause: Cause,
    },
    /// Another process holds the data directory.
    #[error("the data directory is locked by {holder}")]
    Locked {
        /// Who holds it.
        holder: String,
    },
    /// The database's schema is newer than this program.
    #[error("the database has schema {found}, this program knows up to {known}")]
    DatabaseNewer {
        /// The database's schema.
        found: i64,
        /// The last schema this program knows.
        known: i64,
    },
    /// The database has lost its end, which its archive still has (A14).
    #[error("the database ends at event {database} and lacks what its archive has up to {archive}")]
    BehindArchive {
        /// Where the archive ends.
        archive: Seq,
        /// Where the database ends.
        database: Seq,
    },
    /// The database is damaged or not one of ours.
    #[error("{what}")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// The data directory or database cannot be used as it is.
    #[error("{what}")]
    Unusable {
        /// What is wrong with it.
        what: String,
    },
}

/// A stable code with its HTTP status and exit code: the one table (DESIGN 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The word on the wire.
    pub word: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The exit code of the command line.
    pub exit: u8,
}

macro_rules! codes {
    ($($name:ident = $word:literal, $status:literal, $exit:literal;)+) => {
        $(const $name: Code = Code { word: $word, status: $status, exit: $exit };)+

        /// Every code, for the tables of the documentation and its tests.
        pub const CODES: &[Code] = &[$($name),+];
    };
}

codes! {
    NOT_JSON = "not_json", 400, 3;
    TOO_LARGE = "too_large", 413, 3;
    INVALID = "invalid", 422, 3;
    UNAUTHORIZED = "unauthorized", 401, 2;
    FORBIDDEN = "forbidden", 403, 1;
    NOT_FOUND = "not_found", 404, 1;
    NAME_TAKEN = "name_taken", 409, 1;
    AGENT_RETIRED = "agent_retired", 409, 1;
    UNKNOWN_RECIPIENT = "unknown_recipient", 422, 1;
    DELIVERY_REFUSED = "delivery_refused", 422, 1;
    RESERVATION_CONFLICT = "reservation_conflict", 409, 1;
    NOT_HOLDER = "not_holder", 403, 1;
    LEASE_EXPIRED = "lease_expired", 410, 1;
    LEASE_ENDED = "lease_ended", 410, 1;
    VERSION_CONFLICT = "version_conflict", 409, 1;
    STALE_PHASE = "stale_phase", 409, 1;
    GATE_REFUSED = "gate_refused", 409, 1;
    ILLEGAL_TRANSITION = "illegal_transition", 409, 1;
    ALREADY_SETTLED = "already_settled", 409, 1;
    ALREADY_EXISTS = "already_exists", 409, 4;
    BELOW_THRESHOLD = "below_threshold", 409, 1;
    ALREADY_PROMOTED = "already_promoted", 409, 1;
    DISMISSED = "dismissed", 409, 1;
    CYCLE = "cycle", 409, 1;
    WRONG_GENERATION = "wrong_generation", 409, 1;
    PRUNED = "pruned", 410, 1;
    STILL_NEEDED = "still_needed", 409, 1;
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch", 409, 1;
    LIMIT_EXCEEDED = "limit_exceeded", 422, 1;
    RATE_LIMITED = "rate_limited", 429, 2;
    WRONG_HOST = "wrong_host", 421, 2;
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, 2;
    TOO_SLOW = "too_slow", 408, 2;
    BUSY = "busy", 503, 2;
    EMBEDDER_UNAVAILABLE = "embedder_unavailable", 503, 2;
    STORAGE_FULL = "storage_full", 503, 2;
    INDETERMINATE = "indeterminate", 503, 2;
    INTERNAL = "internal", 500, 2;
    LOCKED = "locked", 503, 6;
    DATABASE_NEWER = "database_newer", 503, 5;
    BEHIND_ARCHIVE = "behind_archive", 503, 7;
    DAMAGED = "damaged", 503, 8;
    UNUSABLE = "unusable", 503, 2;
}

impl Error {
    /// Returns the code.
    pub const fn code(&self) -> Code {
        match self {
            Self::NotJson { .. } => NOT_JSON,
            Self::TooLarge { .. } => TOO_LARGE,
            Self::Invalid { .. } => INVALID,
            Self::Unauthorized => UNAUTHORIZED,
            Self::Forbidden { .. } => FORBIDDEN,
            Self::NotFound { .. } => NOT_FOUND,
            Self::NameTaken { .. } => NAME_TAKEN,
            Self::UnknownRecipient { .. } => UNKNOWN_RECIPIENT,
            Self::DeliveryRefused { .. } => DELIVERY_REFUSED,
            Self::AgentRetired { .. } => AGENT_RETIRED,
            Self::ReservationConflict { .. } => RESERVATION_CONFLICT,
            Self::NotHolder { .. } => NOT_HOLDER,
            Self::LeaseExpired { .. } => LEASE_EXPIRED,
            Self::LeaseEnded { .. } => LEASE_ENDED,
            Self::VersionConflict { .. } => VERSION_CONFLICT,
            Self::StalePhase { .. } => STALE_PHASE,
            Self::GateRefused { .. } => GATE_REFUSED,
            Self::IllegalTransition { .. } => ILLEGAL_TRANSITION,
            Self::AlreadySettled { .. } => ALREADY_SETTLED,
            Self::AlreadyExists { .. } => ALREADY_EXISTS,
            Self::BelowThreshold { .. } => BELOW_THRESHOLD,
            Self::AlreadyPromoted { .. } => ALREADY_PROMOTED,
            Self::Dismissed { .. } => DISMISSED,
            Self::Cycle { .. } => CYCLE,
            Self::WrongGeneration { .. } => WRONG_GENERATION,
            Self::Pruned { .. } => PRUNED,
            Self::StillNeeded { .. } => STILL_NEEDED,
            Self::IdempotencyMismatch { .. } => IDEMPOTENCY_MISMATCH,
            Self::LimitExceeded { .. } => LIMIT_EXCEEDED,
            Self::RateLimited { .. } => RATE_LIMITED,
            Self::WrongHost { .. } => WRONG_HOST,
            Self::MethodNotAllowed { .. } => METHOD_NOT_ALLOWED,
            Self::TooSlow { .. } => TOO_SLOW,
            Self::Busy { .. } => BUSY,
            Self::EmbedderUnavailable { .. } => EMBEDDER_UNAVAILABLE,
            Self::StorageFull => STORAGE_FULL,
            Self::Indeterminate => INDETERMINATE,
            Self::Internal { .. } => INTERNAL,
            Self::Locked { .. } => LOCKED,
            Self::DatabaseNewer { .. } => DATABASE_NEWER,
            Self::BehindArchive { .. } => BEHIND_ARCHIVE,
            Self::Damaged { .. } => DAMAGED,
            Self::Unusable { .. } => UNUSABLE,
        }
    }

    /// Names a field and the rule it breaks.
    pub fn invalid(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            rule: rule.into(),
        }
    }

    /// Says that there is no such thing, or none the caller may see.
    pub fn not_found(kind: &'static str, name: &impl ToString) -> Self {
        Self::NotFound {
            kind,
            name: name.to_string(),
            near: None,
        }
    }

    /// Wraps a defect; its number is given where it is answered and logged.
    pub fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal {
            id: String::new(),
            cause: std::sync::Arc::new(cause),
        }
    }
}

impl Error {
    /// Gives an internal error its number and leaves the cause in the log under it.
    #[must_use]
    pub fn numbered(self, ambient: &Ambient) -> Self {
        match self {
            Self::Internal { id, cause } if id.is_empty() => {
                let id = to_hex(&ambient.random::<6>());
                tracing::error!(error.id = %id, cause = ?cause, "internal error");
                Self::Internal { id, cause }
            }
            error => error,
        }
    }
}

/// An impossible state, named for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Impossible(pub(crate) &'static str);

/// Writes an error with everything below it, for the log and for doctors.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let busy = |reason: &str| Self::Busy {
            reason: reason.to_owned(),
        };
        match error {
            StoreError::Full(_) => Self::StorageFull,
            StoreError::Busy(_) => busy("another process holds the database"),
            StoreError::Unwritable(_) => busy("the database cannot be written at the moment"),
            StoreError::Conflict(_) => busy("other servers kept winning"),
            StoreError::Lost(_) => busy("the database cannot be reached"),
            StoreError::Timeout(_) => busy("the database took too long"),
            StoreError::Damaged(_) => Self::Damaged {
                what: with_causes(&error),
            },
            StoreError::Io(_) => Self::Unusable {
                what: "the disk failed".to_owned(),
            },
            StoreError::Constraint(_)
            | StoreError::RowCount { .. }
            | StoreError::Shape(_)
            | StoreError::Other(_) => Self::internal(error),
        }
    }
}

impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        // The fault of a request as a whole has no field to name.
        let field = match error.field {
            field if field.is_empty() => "request".to_owned(),
            field => field,
        };
        Self::Invalid {
            field,
            rule: error.rule,
        }
    }
}

impl From<NotJson> for Error {
    fn from(error: NotJson) -> Self {
        Self::NotJson {
            reason: error.message,
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}
