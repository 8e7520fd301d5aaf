-- The log, its head, and the first projections: projects, agents, tokens.

-- One row: where the log ends, and the mark of the lease clock (off the log).
create table log_head (
    one bigint not null primary key constraint log_head_one check (one = 1),
    epoch text collate "C" not null,
    schema bigint not null,
    seq bigint not null,
    hash bytea not null constraint log_head_hash check (length(hash) = 32),
    pruned_to bigint not null default 0,
    lease_us bigint not null,
    anchor_us bigint not null,
    anchor_of text collate "C" not null
);

-- The truth. The chained line is rendered from these columns; the payload lies beside it, so that
-- it can be redacted and the chain still verifies.
create table event (
    seq bigint not null primary key,
    at bigint not null,
    v bigint not null,
    kind text collate "C" not null,
    project bigint,
    actor text collate "C" not null,
    subject_type text collate "C" not null,
    subject_id bigint not null,
    run bigint,
    correlation text collate "C",
    payload_sha256 bytea not null constraint event_payload_hash check (length(payload_sha256) = 32),
    payload text collate "C",
    hash bytea not null constraint event_hash check (length(hash) = 32)
);

create table project (
    id bigint not null primary key,
    key text collate "C" not null constraint project_key unique,
    slug text collate "C" not null constraint project_slug unique,
    name text collate "C" not null,
    case_insensitive bigint not null constraint project_case check (case_insensitive in (0, 1)),
    guard_mode text collate "C" not null constraint project_guard_mode check (guard_mode in ('block', 'warn', 'off')),
    guard_away text collate "C" not null constraint project_guard_away check (guard_away in ('block', 'warn')),
    grace_us bigint not null constraint project_grace check (grace_us >= 0),
    leases_per_agent bigint not null constraint project_leases check (leases_per_agent > 0),
    created_at bigint not null,
    revision bigint not null
);

create table agent (
    id bigint not null primary key,
    project_id bigint not null constraint agent_project references project (id) on delete restrict,
    name text collate "C" not null,
    name_folded text collate "C" not null,
    program text collate "C" not null,
    model text collate "C" not null,
    task text collate "C" not null,
    metadata text collate "C" not null,
    orchestrate bigint not null constraint agent_orchestrate check (orchestrate in (0, 1)),
    created_at bigint not null,
    retired_at bigint,
    revision bigint not null,
    constraint agent_name unique (project_id, name_folded)
);

-- A project's agents are listed page by page in the order they came.
create index agent_by_project on agent (project_id, id);

create table agent_capability (
    agent_id bigint not null constraint agent_capability_agent references agent (id) on delete restrict,
    capability text collate "C" not null,
    constraint agent_capability_key primary key (agent_id, capability)
);

create table token (
    id bigint not null primary key,
    role text collate "C" not null constraint token_role check (role in ('operator', 'agent', 'observer')),
    project_id bigint constraint token_project references project (id) on delete restrict,
    agent_id bigint constraint token_agent references agent (id) on delete restrict,
    name text collate "C" not null,
    sha256 bytea not null constraint token_sha256 check (length(sha256) = 32),
    created_at bigint not null,
    revoked_at bigint,
    revision bigint not null,
    constraint token_owner check ((role = 'agent') = (agent_id is not null)),
    constraint token_scope check (agent_id is null or project_id is not null)
);

-- An agent's living tokens are found when they are rotated or it retires.
create index token_by_agent on token (agent_id) where revoked_at is null;

-- Off the log: when each agent was last heard of.
create table presence (
    agent_id bigint not null primary key constraint presence_agent references agent (id) on delete restrict,
    seen_at bigint not null,
    seen_lease_us bigint not null,
    status text collate "C" not null,
    focus text collate "C" not null
);

-- Off the log: first answers, so that a repeated command takes effect once (C2).
create table idempotency (
    credential text collate "C" not null,
    operation text collate "C" not null,
    key text collate "C" not null,
    request_sha256 bytea not null,
    answer text collate "C" not null,
    seq bigint not null,
    lease_us bigint not null,
    constraint idempotency_key primary key (credential, operation, key)
);

-- Old answers are forgotten oldest first.
create index idempotency_by_age on idempotency (lease_us);

-- The log defends itself against every connection, ours included (I1).
create function refuse() returns trigger language plpgsql as $$
begin
    raise exception using errcode = 'restrict_violation', message = tg_name;
end $$;

create function event_insert() returns trigger language plpgsql as $$
begin
    if new.seq is distinct from 1 + greatest(
        (select coalesce(max(seq), 0) from event), (select seq from log_head)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function event_delete() returns trigger language plpgsql as $$
begin
    if old.seq is distinct from (select min(seq) from event)
        or old.seq > (select pruned_to from log_head) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return old;
end $$;

create function log_head_insert() returns trigger language plpgsql as $$
begin
    if exists (select 1 from log_head) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function log_head_update() returns trigger language plpgsql as $$
begin
    if new.one is distinct from old.one or new.pruned_to < old.pruned_to or new.pruned_to > old.seq
        or new.schema < old.schema or new.lease_us < old.lease_us
        or (new.seq = old.seq and new.hash is distinct from old.hash)
        or (new.seq <> old.seq and (
            new.seq is distinct from (select max(seq) from event)
            or new.hash is distinct from (select hash from event where seq = new.seq))) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger event_insert before insert on event for each row execute function event_insert();
create trigger event_update before update on event for each row execute function refuse();
create trigger event_delete before delete on event for each row execute function event_delete();
create trigger event_truncate before truncate on event for each statement execute function refuse();
create trigger log_head_insert before insert on log_head for each row execute function log_head_insert();
create trigger log_head_update before update on log_head for each row execute function log_head_update();
create trigger log_head_delete before delete on log_head for each row execute function refuse();
create trigger log_head_truncate before truncate on log_head for each statement execute function refuse();
