-- Leases: on files, on names, requests to release them, and sentinels.

-- A lease on files that match a pattern, or on a name (`lock`). Rows are never changed but for a
-- later expiry and their one end.
create table reservation (
    id integer not null primary key,
    kind text not null constraint reservation_kind check (kind in ('files', 'lock')),
    project_id integer not null constraint reservation_project references project (id) on delete restrict,
    -- Null: the operator, who may hold locks.
    agent_id integer constraint reservation_agent references agent (id) on delete restrict,
    -- As it is shown, and as it is compared.
    pattern text not null,
    pattern_key text not null,
    -- The beginning of the key's SHA-256: a key may be too long for an index.
    key_hash integer not null,
    exclusive integer not null constraint reservation_exclusive check (exclusive in (0, 1)),
    reason text not null,
    -- The number of the granting event; rows of one grant share it (F14).
    fence integer not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    created_at integer not null,
    created_lease_us integer not null,
    expires_lease_us integer not null,
    ended_at integer,
    ended_seq integer,
    ended text constraint reservation_ended check (ended in ('released', 'forced', 'retired', 'expired')),
    constraint reservation_holder check (kind = 'lock' or agent_id is not null),
    constraint reservation_span check (expires_lease_us > created_lease_us),
    constraint reservation_end check (
        (ended_at is null) = (ended_seq is null) and (ended_at is null) = (ended is null))
) strict;

create index reservation_by_project on reservation (project_id, id);
create index reservation_by_agent on reservation (agent_id, id);
-- What is open: of a project, of a holder, of a holder on something, by when it is due.
create index reservation_open on reservation (project_id, id) where ended_seq is null;
create index reservation_held on reservation (agent_id, id) where ended_seq is null;
create index reservation_own on reservation (agent_id, key_hash, expires_lease_us) where ended_seq is null;
create index reservation_due on reservation (expires_lease_us) where ended_seq is null;
-- Every lock that had a name.
create index reservation_named on reservation (project_id, key_hash, id) where kind = 'lock';
create index reservation_by_end on reservation (ended_seq) where ended_seq is not null;

create trigger reservation_insert before insert on reservation
when exists (select 1 from reservation where id = new.id)
begin select raise(abort, 'reservation_insert'); end;

create trigger reservation_update before update on reservation
when old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
    or new.id is not old.id or new.kind is not old.kind or new.project_id is not old.project_id
    or new.agent_id is not old.agent_id or new.pattern is not old.pattern
    or new.pattern_key is not old.pattern_key or new.key_hash is not old.key_hash
    or new.exclusive is not old.exclusive
    or new.reason is not old.reason or new.fence is not old.fence
    or new.created_at is not old.created_at or new.created_lease_us is not old.created_lease_us
begin select raise(abort, 'reservation_update'); end;

create trigger reservation_delete before delete on reservation
begin select raise(abort, 'reservation_delete'); end;

-- Somebody asked a holder to release a lease.
create table release_request (
    id integer not null primary key,
    project_id integer not null constraint release_request_project references project (id) on delete restrict,
    reservation_id integer not null constraint release_request_reservation references reservation (id) on delete restrict,
    requester_id integer not null constraint release_request_requester references agent (id) on delete restrict,
    -- The first message of the thread in which the two talk about it.
    thread_id integer not null constraint release_request_thread references message (id) on delete restrict,
    reason text not null,
    answer text constraint release_request_answer check (answer in ('release', 'defer')),
    eta_ms integer,
    created_at integer not null,
    answered_at integer,
    revision integer not null
) strict;

create index release_request_by_lease on release_request (reservation_id, requester_id);

-- Something to be done once per interval, by whoever claims it first.
create table sentinel (
    id integer not null primary key,
    project_id integer not null constraint sentinel_project references project (id) on delete restrict,
    name text not null,
    scope text not null,
    -- Null: the operator.
    agent_id integer constraint sentinel_agent references agent (id) on delete restrict,
    -- Null after a reset. On the wall clock, for people, and on the lease clock, which decides.
    claimed_at integer,
    claimed_lease_us integer,
    revision integer not null,
    constraint sentinel_name unique (project_id, name, scope)
) strict;
