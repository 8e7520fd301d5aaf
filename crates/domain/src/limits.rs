//! Every bound of the system, in one place; passing one is a clear error.

/// Bytes of a project key.
pub const PROJECT_KEY_BYTES_MAX: usize = 1_024;
/// Bytes of a derived slug, before the number that makes it unique.
pub const SLUG_BYTES_MAX: usize = 48;
/// Bytes of a one-line label: display names, programs, models, capabilities.
pub const LABEL_BYTES_MAX: usize = 128;
/// Bytes of an agent's task, status and focus.
pub const TASK_BYTES_MAX: usize = 4_096;
/// Characters of an agent's name.
pub const AGENT_NAME_CHARS_MAX: usize = 64;
/// Capabilities of one agent.
pub const CAPABILITIES_MAX: usize = 32;
/// Bytes of an agent's metadata as JSON.
pub const METADATA_BYTES_MAX: usize = 16 * 1_024;
/// Bytes of an idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
/// Bytes of a correlation id.
pub const CORRELATION_BYTES_MAX: usize = 128;
/// How long an idempotency answer is kept, on the lease clock.
pub const IDEMPOTENCY_KEEP_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Bytes of a message's subject.
pub const SUBJECT_BYTES_MAX: usize = 512;
/// Bytes of a message's body.
pub const BODY_BYTES_MAX: usize = 256 * 1_024;
/// Recipients that a message may name.
pub const RECIPIENTS_MAX: usize = 256;
/// Recipients that a broadcast may reach.
pub const BROADCAST_MAX: usize = 5_000;
/// How long ago an agent may have been heard of to be reached by a broadcast.
pub const BROADCAST_SEEN_US: i64 = 7 * 24 * 60 * 60 * 1_000_000;
/// Attachments of one message.
pub const ATTACHMENTS_MAX: usize = 32;
/// Bytes of one attachment.
pub const ATTACHMENT_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Bytes that one agent may keep as attachments.
pub const STORED_BYTES_MAX: i64 = 1_024 * 1_024 * 1_024;
/// Characters of the line that shows where a search found something.
pub const SNIPPET_CHARS_MAX: usize = 160;
/// How long a search may take.
pub const SEARCH_US_MAX: u64 = 250_000;
/// Messages that one call may mark.
pub const MARKS_MAX: usize = 500;
/// Characters of a message's preview.
pub const PREVIEW_CHARS_MAX: usize = 200;
/// The longest a caller may wait for something new.
pub const WAIT_US_MAX: i64 = 60 * 1_000_000;

/// Bytes of a request as a whole.
pub const REQUEST_BYTES_MAX: usize = 1_024 * 1_024;
/// Seconds the body of a request may take to arrive.
pub const REQUEST_TIME_MAX_S: u64 = 30;
/// Seconds a quick operation may take to be answered.
pub const ANSWER_TIME_MAX_S: u64 = 30;

/// Items of a page when the caller does not say.
pub const PAGE_DEFAULT: u32 = 50;
/// Bytes of bodies after which a page ends early.
pub const PAGE_BYTES_MAX: usize = 1_024 * 1_024;
/// Messages of a thread that are summed up.
pub const SUMMARY_MESSAGES_MAX: usize = 5_000;
/// Items of the largest page.
pub const PAGE_MAX: u32 = 500;

/// Events one command may emit.
pub const EVENTS_PER_COMMAND_MAX: u32 = 10_000;
/// First answers that a redaction looks through at a time.
pub const ANSWERS_PAGE: i64 = 200;
/// Words of a first answer that are kept beside it, for redactions to find it by.
pub const ANSWER_WORDS_MAX: usize = 16;

/// Commands in one batch of the writer.
pub const BATCH_MAX: usize = 64;
/// Commands in one batch on PostgreSQL: a backend caches 64 subtransactions.
pub const BATCH_MAX_POSTGRES: usize = 60;
/// How long a batch may grow.
pub const BATCH_US_MAX: u64 = 5_000;
/// How long a batch may grow on PostgreSQL, where each command waits for round trips.
pub const BATCH_US_MAX_POSTGRES: u64 = 25_000;
/// Commands waiting for the writer.
pub const QUEUE_MAX: usize = 4_096;
/// Commands of one caller waiting for the writer.
pub const QUEUE_PER_CALLER_MAX: usize = 1_024;
/// Queries waiting for a reader.
pub const READ_QUEUE_MAX: usize = 4_096;
/// Reader threads when the configuration does not say.
pub const READER_THREADS: usize = 4;
/// The longest life of a read snapshot.
pub const READ_US_MAX: u64 = 5_000_000;
/// Attempts at a batch that lost against another server (40001, 40P01).
pub const BATCH_RETRIES_MAX: u32 = 10;
/// How long the writer tries to get a lost database connection back for one batch.
pub const RECONNECT_US_MAX: u64 = 5_000_000;

/// Bytes of payload that one page of a feed reads together; a single event may have more.
pub const FEED_PAGE_BYTES_MAX: i64 = 256 * 1_024;
/// Events that are kept in memory for all feeds together.
pub const FEED_EVENTS_MAX: usize = 1_000;
/// Bytes of payload that are kept in memory for all feeds together; the rest is read from the log.
pub const FEED_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Open feeds of one agent or observer.
pub const FEEDS_PER_CREDENTIAL_MAX: usize = 100;
/// Open feeds of one operator.
pub const FEEDS_PER_OPERATOR_MAX: usize = 1_000;
/// Bytes of one frame that a client may send.
pub const FRAME_BYTES_MAX: usize = 64 * 1_024;

/// Bytes of the name of a stream or a consumer.
pub const PLAIN_NAME_BYTES_MAX: usize = 128;
/// Bytes of a kind of event of the callers' own.
pub const CUSTOM_KIND_BYTES_MAX: usize = 128;
/// Kinds that a filter may name.
pub const FILTER_KINDS_MAX: usize = 128;
/// Events that one question looks at, whether they match or not.
pub const LOOKED_AT_MAX: i64 = 5_000;

/// Bytes of the payload of an event of the callers' own, as JSON.
pub const CUSTOM_BYTES_MAX: usize = 64 * 1_024;
/// Streams of one project.
pub const STREAMS_MAX: i64 = 10_000;
/// Consumers of one project, and of the workspace.
pub const CONSUMERS_MAX: i64 = 1_000;
/// Bytes of what a consumer keeps beside its place, as JSON.
pub const CURSOR_BYTES_MAX: usize = 16 * 1_024;
/// The shortest time after which a silent consumer may be gone: longer than it may wait.
pub const CONSUMER_TTL_US_MIN: i64 = 2 * WAIT_US_MAX;
/// The longest.
pub const CONSUMER_TTL_US_MAX: i64 = 30 * 24 * 60 * 60 * 1_000_000;
/// How seldom it is noted that a consumer asked.
pub const CONSUMER_SEEN_US: i64 = 30 * 1_000_000;
/// Consumers that end in one command.
pub const CONSUMERS_ENDED_MAX: i64 = 500;

/// Statements a connection keeps prepared.
pub const STATEMENT_CACHE_MAX: usize = 512;
/// Bytes that must stay free on the data disk; below it writes are refused.
pub const DISK_RESERVE_BYTES: u64 = 64 * 1_024 * 1_024;
/// Bytes of write-ahead log at which the writer checkpoints even under load.
pub const WAL_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// A SQLite database up to this size is written anew after a redaction, so that the unused parts of its
/// pages keep nothing: about a second.
pub const SHRED_BYTES_MAX: u64 = 256 << 20;
/// Links of the hash chain checked at every start, and before a command without a server first writes.
pub const CHAIN_LINKS_AT_START: i64 = 1_000;
/// Links of the hash chain checked before a command without a server asks.
pub const CHAIN_LINKS_TO_ASK: i64 = 100;
/// How long after its last piece an archive counts as written by somebody: pruning waits for it.
pub const ARCHIVE_ALIVE_US: i64 = 7 * 24 * 60 * 60 * 1_000_000;
/// Events that are removed from the log in one transaction once it was pruned.
pub const PRUNE_PIECE: i64 = 500;
/// Such transactions that upkeep runs before it turns to something else.
pub const PRUNE_PIECES_AT_ONCE: usize = 20;
/// Events read from the log at a time by whoever folds or checks it.
pub const LOG_PAGE: i64 = 1_000;
/// Bytes of payload that are read from the log at once then, unless one event alone has more.
pub const LOG_PAGE_BYTES_MAX: i64 = 8 << 20;

/// How seldom an agent's presence is written to disk.
pub const PRESENCE_FLUSH_US: i64 = 10_000_000;
/// Agents whose presence is written at a time.
pub const PRESENCE_FLUSH_MAX: usize = 1_000;
/// Agents whose presence is kept in memory.
pub const PRESENCE_MAX: usize = 100_000;
/// Events in one commit of the archive at most, when nobody says.
pub const ARCHIVE_BATCH_DEFAULT: i64 = 500;
/// The most events that may be asked for in one commit.
pub const ARCHIVE_BATCH_MAX: i64 = 10_000;
/// Numbers that a new epoch leaves out above what the archive has of a lost end: what was answered
/// and not archived yet may have used them.
pub const EPOCH_GAP: i64 = 1_000_000;
/// How long the archive gathers before it commits, when nobody says.
pub const ARCHIVE_INTERVAL_MS_DEFAULT: i64 = 200;
/// The longest the archive may be told to gather: well below what counts as falling behind.
pub const ARCHIVE_INTERVAL_US_MAX: i64 = 30 * 1_000_000;
/// How old an event may be that is not archived before the archive counts as behind.
pub const ARCHIVE_LAG_US_MAX: i64 = 60 * 1_000_000;
/// The grace before a silent holder may be forced, when the project does not say.
pub const GRACE_US_DEFAULT: i64 = 15 * 60 * 1_000_000;
/// The longest grace a project may set.
pub const GRACE_US_MAX: i64 = 7 * 24 * 60 * 60 * 1_000_000;
/// Active leases of one agent, when the project does not say.
pub const LEASES_PER_AGENT_DEFAULT: i64 = 1_000;
/// The largest number of active leases a project may allow one agent: they all end in one command
/// when it retires, and a command's events are limited.
pub const LEASES_PER_AGENT_MAX: i64 = 5_000;
/// The shortest lease.
pub const TTL_US_MIN: i64 = 1_000_000;
/// The longest lease.
pub const TTL_US_MAX: i64 = 24 * 60 * 60 * 1_000_000;
/// How long a lease lasts when neither the caller nor the configuration says.
pub const TTL_US_DEFAULT: i64 = 30 * 60 * 1_000_000;
/// Paths and patterns of one request for leases.
pub const PATTERNS_PER_CALL_MAX: usize = 64;
/// Patterns of one request that begin with a wildcard.
pub const ROOTLESS_PATTERNS_MAX: usize = 16;
/// Leases that one call may renew or release by number.
pub const LEASES_PER_CALL_MAX: usize = 500;
/// Paths of one question of the Git guard.
pub const GUARD_PATHS_MAX: usize = 10_000;
/// Paths shown of those that one lease keeps from being written.
pub const GUARD_PATHS_SHOWN_MAX: usize = 20;
/// Leases whose end by expiry is written at a time.
pub const SWEEP_MAX: i64 = 500;
/// Callers that may wait for leases at a time.
pub const WAITERS_MAX: usize = 1_000;
/// Waits of one credential at a time.
pub const WAITS_PER_CREDENTIAL_MAX: usize = 32;
/// The longest interval of a sentinel.
pub const SENTINEL_US_MAX: i64 = 365 * 24 * 60 * 60 * 1_000_000;

/// Bytes of the name of a scope.
pub const SCOPE_BYTES_MAX: usize = 128;
/// Bytes of a key of state.
pub const STATE_KEY_BYTES_MAX: usize = 256;
/// Bytes of a value of state as JSON without spaces.
pub const STATE_VALUE_BYTES_MAX: usize = 1_024 * 1_024;
/// Bytes of a value that stand in the log and its row; a larger one is kept by its hash.
pub const STATE_INLINE_BYTES_MAX: usize = 4 * 1_024;
/// Arrays and objects of a value inside each other: events and answers put some more around it,
/// and no reader of JSON takes more than 127.
pub const STATE_DEPTH_MAX: usize = 100;
/// Bytes of a request that saves state: the value may come with spaces and escapes.
pub const STATE_REQUEST_BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// The shortest life of a value that is to end by itself.
pub const STATE_TTL_US_MIN: i64 = 1_000_000;
/// The longest.
pub const STATE_TTL_US_MAX: i64 = 365 * 24 * 60 * 60 * 1_000_000;
/// Keys of one scope: one event names them all when it is cleared.
pub const STATE_KEYS_MAX: i64 = 1_000;
/// Bytes of the values of one scope.
pub const STATE_BYTES_MAX: i64 = 64 * 1_024 * 1_024;
/// Shared scopes of one project that hold something.
pub const STATE_SCOPES_MAX: i64 = 1_000;

/// Bytes of the name of a phase.
pub const PHASE_BYTES_MAX: usize = 64;
/// Phases of a run.
pub const PHASES_MAX: usize = 64;
/// Checks of one step between phases.
pub const CHECKS_PER_GATE_MAX: usize = 32;
/// Numbers of things that one check names at most.
pub const EVIDENCE_MAX: i64 = 50;
/// Active leases and locks that one run may have: they end with it, in one command.
pub const LEASES_PER_RUN_MAX: i64 = 1_000;
/// Bytes of a run's goal, of a reason, a note or a summary.
pub const GOAL_BYTES_MAX: usize = 4_096;
/// Bytes of a URL.
pub const URL_BYTES_MAX: usize = 2_048;
/// The largest budget of tokens.
pub const TOKENS_MAX: i64 = 1_000_000_000_000_000;
/// The most dispatches of one run that may be allowed to be in hand at a time.
pub const IN_HAND_MAX: i64 = 10_000;
/// Kinds of agent that one run may limit, and that one caller may ask work for.
pub const AGENT_KINDS_MAX: usize = 32;
/// Artifacts of one run, the withdrawn ones included.
pub const ARTIFACTS_MAX: i64 = 10_000;
/// Verdicts, and approvals, of one run.
pub const JUDGEMENTS_MAX: i64 = 10_000;
/// Agents of one run.
pub const RUN_AGENTS_MAX: i64 = 1_000;
/// Children that one request creates.
pub const CHILDREN_PER_CALL_MAX: usize = 64;
/// Runs of one portfolio: they may all be cancelled in one command, whose events are limited.
pub const PORTFOLIO_RUNS_MAX: i64 = 1_000;
/// How deep a portfolio may be.
pub const PORTFOLIO_DEPTH_MAX: usize = 16;
/// Runs that one run may wait for.
pub const LINKS_PER_RUN_MAX: usize = 100;
/// Runs that are looked at to find out whether one would wait for itself.
pub const WAITED_FOR_MAX: usize = 2_000;
/// Open dispatches of one portfolio, for the same reason.
pub const OPEN_DISPATCHES_MAX: i64 = 5_000;
/// Bytes of a prompt.
pub const PROMPT_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of a result as JSON.
pub const RESULT_BYTES_MAX: usize = 256 * 1_024;
/// Dispatches that one dispatch may wait for.
pub const DEPENDENCIES_MAX: usize = 64;
/// The priority farthest from 0.
pub const PRIORITY_MAX: i64 = 1_000;
/// The longest time a dispatch may be given.
pub const DEADLINE_US_MAX: i64 = 30 * 24 * 60 * 60 * 1_000_000;
/// How long a claim lasts when its claimant does not say.
pub const CLAIM_US_DEFAULT: i64 = 5 * 60 * 1_000_000;
/// Dispatches in the hands of one agent: they are all returned in one command when it retires, and a
/// command's events are limited.
pub const CLAIMS_PER_AGENT_MAX: i64 = 1_000;
/// Bytes of what a worker says about how far it is.
pub const PROGRESS_BYTES_MAX: usize = 512;
/// Attempts at one piece of work.
pub const ATTEMPTS_MAX: i64 = 20;
/// How long the second attempt waits; each further one waits twice as long.
pub const BACK_OFF_US: i64 = 5 * 1_000_000;
/// The longest an attempt waits.
pub const BACK_OFF_US_MAX: i64 = 10 * 60 * 1_000_000;
/// Dispatches whose claim was lost or whose deadline passed, written at a time.
pub const DUE_MAX: i64 = 500;
/// Dispatches that somebody who claims looks at before it asks run by run.
pub const FIRST_CANDIDATES: i64 = 16;

/// Bytes of what a source calls a discovery.
pub const SOURCE_ID_BYTES_MAX: usize = 512;
/// Bytes of a discovery's summary.
pub const DISCOVERY_SUMMARY_BYTES_MAX: usize = 16 * 1_024;
/// Bytes of the name of what a discovery became.
pub const REF_BYTES_MAX: usize = 256;
/// Opinions on one discovery.
pub const FEEDBACK_MAX: i64 = 1_000;
/// Opinions that are shown with a discovery, the newest.
pub const FEEDBACK_SHOWN_MAX: i64 = 20;
/// Discoveries that one call lets decay or rolls back; it says when there are more.
pub const DISCOVERIES_PER_CALL_MAX: i64 = 1_000;
/// The longest age and period of decay.
pub const DECAY_US_MAX: i64 = 10 * 365 * 24 * 60 * 60 * 1_000_000;
/// Keywords, and sources, of one interest profile.
pub const INTERESTS_MAX: usize = 256;
/// Numbers of one vector.
pub const EMBEDDING_DIMENSION_MAX: usize = 4_096;
/// Bytes of vectors that are kept in memory; what comes behind them is read from the table.
pub const VECTORS_BYTES_MAX: usize = 1 << 30;
/// Vectors that are read into memory at a time.
pub const VECTOR_PAGE: usize = 1_000;
/// Discoveries that get a vector of the present embedder in one step.
pub const EMBED_PAGE: i64 = 200;
/// Bytes of text that go to the embedder in one step, unless one discovery alone has more.
pub const EMBED_PAGE_BYTES_MAX: usize = 512 * 1_024;
/// How many texts may be on their way to a slow embedder at a time.
pub const EMBEDDING_AT_ONCE: usize = 8;
/// Candidates of each kind that a search by text puts together.
pub const FUSED_MAX: usize = 500;
/// Bytes of the name of a space of vectors.
pub const MODEL_ID_BYTES_MAX: usize = 128;

/// Bytes of one token of the full-text index; the rest of a longer run of letters is not indexed.
pub const SEARCH_TOKEN_BYTES_MAX: usize = 64;
/// Tokens of one text that are indexed; the rest of the text is not found.
pub const SEARCH_TOKENS_MAX: usize = 10_000;
/// Places of one token in one text that are indexed: as many as a `tsvector` of PostgreSQL keeps.
pub const SEARCH_PLACES_MAX: usize = 256;
/// Bytes of a search query.
pub const SEARCH_QUERY_BYTES_MAX: usize = 1_024;
/// Terms of a search query: words, phrases and beginnings of words.
pub const SEARCH_TERMS_MAX: usize = 32;
/// Tokens of one phrase in a search query.
pub const SEARCH_PHRASE_TOKENS_MAX: usize = 32;
/// Fewest letters or digits before the `*` of a search query: one would match half of the index.
pub const SEARCH_PREFIX_CHARS_MIN: usize = 2;

/// Bytes of a pattern with wildcards, classes or alternatives.
pub const PATTERN_BYTES_MAX: usize = 512;
/// Bytes of a path without any.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Bytes of one component of a path: what file systems allow.
pub const COMPONENT_BYTES_MAX: usize = 255;
/// Segments of a pattern or path.
pub const SEGMENTS_MAX: usize = 64;
/// Wildcards and classes of a pattern.
pub const WILDCARDS_MAX: usize = 16;
/// Alternatives of a pattern, in all its braces together.
pub const ALTERNATIVES_MAX: usize = 32;

/// Hooks at the same time.
pub const HOOKS_MAX: i64 = 64;
/// Bytes of the address of a hook.
pub const HOOK_URL_BYTES_MAX: usize = 2_048;
/// Words of the command of a hook.
pub const HOOK_ARGUMENTS_MAX: usize = 32;
/// Bytes of one of them.
pub const HOOK_ARGUMENT_BYTES_MAX: usize = 4_096;
/// Events that wait for one hook; more stay in the log until there is room.
pub const HOOK_WAITING_MAX: i64 = 1_000;
/// Dead letters of one hook; with more, nothing new is taken for it.
pub const HOOK_DEAD_MAX: i64 = 10_000;
/// How often an event is tried before it is a dead letter.
pub const HOOK_ATTEMPTS_MAX: i64 = 12;
/// How long one try may take.
pub const HOOK_TRY_US_MAX: u64 = 10 * 1_000_000;
/// The rest after the first try that failed; it doubles with each.
pub const HOOK_REST_US_MIN: i64 = 1_000_000;
/// The longest rest.
pub const HOOK_REST_US_MAX: i64 = 60 * 60 * 1_000_000;
/// Tries at the same time for one hook.
pub const HOOK_TRIES_AT_ONCE: usize = 4;
/// Tries at the same time beside the first of each hook.
pub const HOOK_TRIES_MORE: usize = 16;
/// How long a server that tells hooks may be silent before another takes over.
pub const HOOK_LEASE_US: i64 = 20 * 1_000_000;
/// Bytes of what is noted about a try that failed.
pub const HOOK_REASON_BYTES_MAX: usize = 512;
