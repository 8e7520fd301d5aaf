-- What agents keep between turns.

-- A scope: an agent's own, or one that everybody in the project shares. It counts what it holds.
create table state_scope (
    id integer not null primary key,
    project_id integer not null constraint state_scope_project references project (id) on delete restrict,
    name text not null,
    -- Whose own it is; null where everybody shares it.
    agent_id integer constraint state_scope_agent references agent (id) on delete restrict,
    keys integer not null constraint state_scope_keys check (keys >= 0),
    bytes integer not null constraint state_scope_bytes check (bytes >= 0),
    created_at integer not null,
    revision integer not null,
    constraint state_scope_name unique (project_id, name)
) strict;

create index state_scope_shared on state_scope (project_id) where agent_id is null and keys > 0;

-- What is kept under a key. A row stays when it ends, so that a version is never given out again.
create table state_entry (
    id integer not null primary key,
    scope_id integer not null constraint state_entry_scope references state_scope (id) on delete restrict,
    key text not null,
    version integer not null constraint state_entry_version check (version >= 1),
    -- A small value as JSON; a large one is in `blob` under its hash.
    value text,
    sha256 blob constraint state_entry_sha256 check (length(sha256) = 32),
    bytes integer not null constraint state_entry_bytes check (bytes >= 0),
    -- Who saved it; null: the operator.
    agent_id integer constraint state_entry_agent references agent (id) on delete restrict,
    -- When the key was first saved, and this version of it.
    created_at integer not null,
    saved_at integer not null,
    -- On the lease clock, which decides; null: it does not expire.
    saved_lease_us integer not null,
    expires_lease_us integer,
    ended text constraint state_entry_ended check (ended in ('deleted', 'cleared', 'expired')),
    constraint state_entry_key unique (scope_id, key),
    constraint state_entry_span check (expires_lease_us > saved_lease_us),
    constraint state_entry_content check (
        case when ended is null then (value is null) <> (sha256 is null)
            else value is null and sha256 is null and bytes = 0 and expires_lease_us is null end)
) strict;

-- Keys that ended stay for ever; nobody walks over them.
create index state_entry_live on state_entry (scope_id, key) where ended is null;
create index state_entry_brief on state_entry (scope_id, expires_lease_us) where ended is null and expires_lease_us is not null;
create index state_entry_due on state_entry (expires_lease_us) where ended is null and expires_lease_us is not null;

-- Which event saved which large value: it outlives the event when the log is pruned, and goes when
-- the event is redacted.
create table state_blob (
    seq integer not null primary key,
    sha256 blob not null constraint state_blob_sha256 check (length(sha256) = 32)
) strict;

create index state_blob_by_hash on state_blob (sha256);

-- A scope begins empty, and takes nobody's place: REPLACE would forget what was given out.
create trigger state_scope_insert before insert on state_scope
when new.keys is not 0 or new.bytes is not 0 or new.revision is not 0
    or exists (select 1 from state_scope where id = new.id)
    or exists (select 1 from state_scope where project_id = new.project_id and name = new.name)
begin select raise(abort, 'state_scope_insert'); end;

create trigger state_scope_update before update on state_scope
when new.id is not old.id or new.project_id is not old.project_id or new.name is not old.name
    or new.agent_id is not old.agent_id or new.created_at is not old.created_at
    or new.revision is not old.revision + 1
begin select raise(abort, 'state_scope_update'); end;

create trigger state_scope_delete before delete on state_scope
begin select raise(abort, 'state_scope_delete'); end;

create trigger state_entry_insert before insert on state_entry
when new.version is not 1 or new.ended is not null
    or exists (select 1 from state_entry where id = new.id)
    or exists (select 1 from state_entry where scope_id = new.scope_id and key = new.key)
begin select raise(abort, 'state_entry_insert'); end;

-- A version is saved once and ends at most once.
create trigger state_entry_update before update on state_entry
when new.id is not old.id or new.scope_id is not old.scope_id or new.key is not old.key
    or new.created_at is not old.created_at
    or (new.ended is null and new.version is not old.version + 1)
    or (new.ended is not null and (old.ended is not null or new.version is not old.version))
begin select raise(abort, 'state_entry_update'); end;

create trigger state_entry_delete before delete on state_entry
begin select raise(abort, 'state_entry_delete'); end;

create trigger state_blob_insert before insert on state_blob
when exists (select 1 from state_blob where seq = new.seq)
    or not exists (select 1 from event where seq = new.seq and kind = 'state_saved')
begin select raise(abort, 'state_blob_insert'); end;

create trigger state_blob_update before update on state_blob
begin select raise(abort, 'state_blob_update'); end;

create trigger state_blob_delete before delete on state_blob
when not exists (select 1 from redaction where id = old.seq)
begin select raise(abort, 'state_blob_delete'); end;
