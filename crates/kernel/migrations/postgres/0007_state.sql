-- What agents keep between turns.

-- A scope: an agent's own, or one that everybody in the project shares. It counts what it holds.
create table state_scope (
    id bigint not null primary key,
    project_id bigint not null constraint state_scope_project references project (id) on delete restrict,
    name text collate "C" not null,
    -- Whose own it is; null where everybody shares it.
    agent_id bigint constraint state_scope_agent references agent (id) on delete restrict,
    keys bigint not null constraint state_scope_keys check (keys >= 0),
    bytes bigint not null constraint state_scope_bytes check (bytes >= 0),
    created_at bigint not null,
    revision bigint not null,
    constraint state_scope_name unique (project_id, name)
);

create index state_scope_shared on state_scope (project_id) where agent_id is null and keys > 0;

-- What is kept under a key. A row stays when it ends, so that a version is never given out again.
create table state_entry (
    id bigint not null primary key,
    scope_id bigint not null constraint state_entry_scope references state_scope (id) on delete restrict,
    key text collate "C" not null,
    version bigint not null constraint state_entry_version check (version >= 1),
    -- A small value as JSON; a large one is in `blob` under its hash.
    value text collate "C",
    sha256 bytea constraint state_entry_sha256 check (length(sha256) = 32),
    bytes bigint not null constraint state_entry_bytes check (bytes >= 0),
    -- Who saved it; null: the operator.
    agent_id bigint constraint state_entry_agent references agent (id) on delete restrict,
    -- When the key was first saved, and this version of it.
    created_at bigint not null,
    saved_at bigint not null,
    -- On the lease clock, which decides; null: it does not expire.
    saved_lease_us bigint not null,
    expires_lease_us bigint,
    ended text collate "C" constraint state_entry_ended check (ended in ('deleted', 'cleared', 'expired')),
    constraint state_entry_key unique (scope_id, key),
    constraint state_entry_span check (expires_lease_us > saved_lease_us),
    constraint state_entry_content check (
        case when ended is null then (value is null) <> (sha256 is null)
            else value is null and sha256 is null and bytes = 0 and expires_lease_us is null end)
);

-- Keys that ended stay for ever; nobody walks over them.
create index state_entry_live on state_entry (scope_id, key) where ended is null;
create index state_entry_brief on state_entry (scope_id, expires_lease_us) where ended is null and expires_lease_us is not null;
create index state_entry_due on state_entry (expires_lease_us) where ended is null and expires_lease_us is not null;

-- Which event saved which large value: it outlives the event when the log is pruned, and goes when
-- the event is redacted.
create table state_blob (
    seq bigint not null primary key,
    sha256 bytea not null constraint state_blob_sha256 check (length(sha256) = 32)
);

create index state_blob_by_hash on state_blob (sha256);

-- A scope begins empty.
create function state_scope_insert() returns trigger language plpgsql as $$
begin
    if new.keys is distinct from 0 or new.bytes is distinct from 0
        or new.revision is distinct from 0 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function state_scope_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.project_id is distinct from old.project_id
        or new.name is distinct from old.name or new.agent_id is distinct from old.agent_id
        or new.created_at is distinct from old.created_at
        or new.revision is distinct from old.revision + 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger state_scope_insert before insert on state_scope for each row execute function state_scope_insert();
create trigger state_scope_update before update on state_scope for each row execute function state_scope_update();
create trigger state_scope_delete before delete on state_scope for each row execute function refuse();
create trigger state_scope_truncate before truncate on state_scope for each statement execute function refuse();

create function state_entry_insert() returns trigger language plpgsql as $$
begin
    if new.version is distinct from 1 or new.ended is not null then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

-- A version is saved once and ends at most once.
create function state_entry_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.scope_id is distinct from old.scope_id
        or new.key is distinct from old.key or new.created_at is distinct from old.created_at
        or (new.ended is null and new.version is distinct from old.version + 1)
        or (new.ended is not null and (old.ended is not null
            or new.version is distinct from old.version)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger state_entry_insert before insert on state_entry for each row execute function state_entry_insert();
create trigger state_entry_update before update on state_entry for each row execute function state_entry_update();
create trigger state_entry_delete before delete on state_entry for each row execute function refuse();
create trigger state_entry_truncate before truncate on state_entry for each statement execute function refuse();

create function state_blob_insert() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from event where seq = new.seq and kind = 'state_saved') then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function state_blob_delete() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from redaction where id = old.seq) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return old;
end $$;

create trigger state_blob_insert before insert on state_blob for each row execute function state_blob_insert();
create trigger state_blob_update before update on state_blob for each row execute function refuse();
create trigger state_blob_delete before delete on state_blob for each row execute function state_blob_delete();
create trigger state_blob_truncate before truncate on state_blob for each statement execute function refuse();
