-- Leases: on files, on names, requests to release them, and sentinels.

-- A lease on files that match a pattern, or on a name (`lock`). Rows are never changed but for a
-- later expiry and their one end.
create table reservation (
    id bigint not null primary key,
    kind text collate "C" not null constraint reservation_kind check (kind in ('files', 'lock')),
    project_id bigint not null constraint reservation_project references project (id) on delete restrict,
    -- Null: the operator, who may hold locks.
    agent_id bigint constraint reservation_agent references agent (id) on delete restrict,
    -- As it is shown, and as it is compared.
    pattern text collate "C" not null,
    pattern_key text collate "C" not null,
    -- The beginning of the key's SHA-256: a key may be too long for an index.
    key_hash bigint not null,
    exclusive bigint not null constraint reservation_exclusive check (exclusive in (0, 1)),
    reason text collate "C" not null,
    -- The number of the granting event; rows of one grant share it (F14).
    fence bigint not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    created_at bigint not null,
    created_lease_us bigint not null,
    expires_lease_us bigint not null,
    ended_at bigint,
    ended_seq bigint,
    ended text collate "C" constraint reservation_ended check (ended in ('released', 'forced', 'retired', 'expired')),
    constraint reservation_holder check (kind = 'lock' or agent_id is not null),
    constraint reservation_span check (expires_lease_us > created_lease_us),
    constraint reservation_end check (
        (ended_at is null) = (ended_seq is null) and (ended_at is null) = (ended is null))
);

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

create function reservation_update() returns trigger language plpgsql as $$
begin
    if old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
        or new.id is distinct from old.id or new.kind is distinct from old.kind
        or new.project_id is distinct from old.project_id
        or new.agent_id is distinct from old.agent_id
        or new.pattern is distinct from old.pattern
        or new.pattern_key is distinct from old.pattern_key
        or new.key_hash is distinct from old.key_hash
        or new.exclusive is distinct from old.exclusive
        or new.reason is distinct from old.reason or new.fence is distinct from old.fence
        or new.created_at is distinct from old.created_at
        or new.created_lease_us is distinct from old.created_lease_us then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger reservation_update before update on reservation for each row execute function reservation_update();
create trigger reservation_delete before delete on reservation for each row execute function refuse();
create trigger reservation_truncate before truncate on reservation for each statement execute function refuse();

-- Somebody asked a holder to release a lease.
create table release_request (
    id bigint not null primary key,
    project_id bigint not null constraint release_request_project references project (id) on delete restrict,
    reservation_id bigint not null constraint release_request_reservation references reservation (id) on delete restrict,
    requester_id bigint not null constraint release_request_requester references agent (id) on delete restrict,
    -- The first message of the thread in which the two talk about it.
    thread_id bigint not null constraint release_request_thread references message (id) on delete restrict,
    reason text collate "C" not null,
    answer text collate "C" constraint release_request_answer check (answer in ('release', 'defer')),
    eta_ms bigint,
    created_at bigint not null,
    answered_at bigint,
    revision bigint not null
);

create index release_request_by_lease on release_request (reservation_id, requester_id);

-- Something to be done once per interval, by whoever claims it first.
create table sentinel (
    id bigint not null primary key,
    project_id bigint not null constraint sentinel_project references project (id) on delete restrict,
    name text collate "C" not null,
    scope text collate "C" not null,
    -- Null: the operator.
    agent_id bigint constraint sentinel_agent references agent (id) on delete restrict,
    -- Null after a reset. On the wall clock, for people, and on the lease clock, which decides.
    claimed_at bigint,
    claimed_lease_us bigint,
    revision bigint not null,
    constraint sentinel_name unique (project_id, name, scope)
);
