-- The log, its head, and the first projections: projects, agents, tokens.

-- One row: where the log ends, and the mark of the lease clock (off the log).
create table log_head (
    one integer not null primary key constraint log_head_one check (one = 1),
    epoch text not null,
    schema integer not null,
    seq integer not null,
    hash blob not null constraint log_head_hash check (length(hash) = 32),
    pruned_to integer not null default 0,
    lease_us integer not null,
    anchor_us integer not null,
    anchor_of text not null
) strict;

-- The truth. The chained line is rendered from these columns; the payload lies beside it, so that
-- it can be redacted and the chain still verifies.
create table event (
    seq integer not null primary key,
    at integer not null,
    v integer not null,
    kind text not null,
    project integer,
    actor text not null,
    subject_type text not null,
    subject_id integer not null,
    run integer,
    correlation text,
    payload_sha256 blob not null constraint event_payload_hash check (length(payload_sha256) = 32),
    payload text,
    hash blob not null constraint event_hash check (length(hash) = 32)
) strict;

create table project (
    id integer not null primary key,
    key text not null constraint project_key unique,
    slug text not null constraint project_slug unique,
    name text not null,
    case_insensitive integer not null constraint project_case check (case_insensitive in (0, 1)),
    guard_mode text not null constraint project_guard_mode check (guard_mode in ('block', 'warn', 'off')),
    guard_away text not null constraint project_guard_away check (guard_away in ('block', 'warn')),
    grace_us integer not null constraint project_grace check (grace_us >= 0),
    leases_per_agent integer not null constraint project_leases check (leases_per_agent > 0),
    created_at integer not null,
    revision integer not null
) strict;

create table agent (
    id integer not null primary key,
    project_id integer not null constraint agent_project references project (id) on delete restrict,
    name text not null,
    name_folded text not null,
    program text not null,
    model text not null,
    task text not null,
    metadata text not null,
    orchestrate integer not null constraint agent_orchestrate check (orchestrate in (0, 1)),
    created_at integer not null,
    retired_at integer,
    revision integer not null,
    constraint agent_name unique (project_id, name_folded)
) strict;

-- A project's agents are listed page by page in the order they came.
create index agent_by_project on agent (project_id, id);

create table agent_capability (
    agent_id integer not null constraint agent_capability_agent references agent (id) on delete restrict,
    capability text not null,
    constraint agent_capability_key primary key (agent_id, capability)
) strict, without rowid;

create table token (
    id integer not null primary key,
    role text not null constraint token_role check (role in ('operator', 'agent', 'observer')),
    project_id integer constraint token_project references project (id) on delete restrict,
    agent_id integer constraint token_agent references agent (id) on delete restrict,
    name text not null,
    sha256 blob not null constraint token_sha256 check (length(sha256) = 32),
    created_at integer not null,
    revoked_at integer,
    revision integer not null,
    constraint token_owner check ((role = 'agent') = (agent_id is not null)),
    constraint token_scope check (agent_id is null or project_id is not null)
) strict;

-- An agent's living tokens are found when they are rotated or it retires.
create index token_by_agent on token (agent_id) where revoked_at is null;

-- Off the log: when each agent was last heard of.
create table presence (
    agent_id integer not null primary key constraint presence_agent references agent (id) on delete restrict,
    seen_at integer not null,
    seen_lease_us integer not null,
    status text not null,
    focus text not null
) strict;

-- Off the log: first answers, so that a repeated command takes effect once (C2).
create table idempotency (
    credential text not null,
    operation text not null,
    key text not null,
    request_sha256 blob not null,
    answer text not null,
    seq integer not null,
    lease_us integer not null,
    constraint idempotency_key primary key (credential, operation, key)
) strict, without rowid;

-- Old answers are forgotten oldest first.
create index idempotency_by_age on idempotency (lease_us);

-- The log defends itself against every connection, ours included (I1). Abort, never rollback (B4).
create trigger event_insert before insert on event
when new.seq is not 1 + max((select coalesce(max(seq), 0) from event), (select seq from log_head))
begin select raise(abort, 'event_insert'); end;

create trigger event_update before update on event
begin select raise(abort, 'event_update'); end;

create trigger event_delete before delete on event
when old.seq is not (select min(seq) from event) or old.seq > (select pruned_to from log_head)
begin select raise(abort, 'event_delete'); end;

create trigger log_head_insert before insert on log_head
when exists (select 1 from log_head)
begin select raise(abort, 'log_head_insert'); end;

create trigger log_head_update before update on log_head
when new.one is not old.one or new.pruned_to < old.pruned_to or new.pruned_to > old.seq
    or (new.seq is not old.seq and new.seq is not (select max(seq) from event))
    or (new.seq is not old.seq and new.hash is not (select hash from event where seq = new.seq))
    or (new.seq is old.seq and new.hash is not old.hash)
    or new.schema < old.schema or new.lease_us < old.lease_us
begin select raise(abort, 'log_head_update'); end;

create trigger log_head_delete before delete on log_head
begin select raise(abort, 'log_head_delete'); end;
