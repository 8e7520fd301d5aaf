-- Hooks: events told to programs elsewhere.

-- What is told, and where: an address or a program. A hook that was removed stays as history.
create table hook (
    id integer not null primary key,
    -- Which events, as JSON.
    filter text not null,
    url text,
    -- The program and its arguments, as a JSON array.
    command text,
    -- Events up to here are not told.
    since_seq integer not null constraint hook_since check (since_seq >= 0),
    created_at integer not null,
    removed_at integer,
    revision integer not null,
    constraint hook_target check ((url is null) <> (command is null))
) strict;

create index hook_live on hook (id) where removed_at is null;

-- Off the log: how far a hook has come, and what signs its requests. Without this row (after a
-- restore from an archive) nothing is told to it: the secret is lost, and the place as well.
create table hook_cursor (
    hook_id integer not null primary key constraint hook_cursor_hook references hook (id) on delete restrict,
    -- Every event up to here was told, waits in hook_delivery, or is not wanted.
    through integer not null constraint hook_cursor_through check (through >= 0),
    -- Null: a program gets no signature.
    secret blob constraint hook_cursor_secret check (secret is null or length(secret) = 32),
    moved_at integer not null
) strict;

-- Off the log: events that wait to be told, and those that were given up.
create table hook_delivery (
    hook_id integer not null constraint hook_delivery_cursor references hook_cursor (hook_id) on delete restrict,
    seq integer not null,
    -- Within a subject the order holds.
    subject_type text not null,
    subject_id integer not null,
    attempts integer not null constraint hook_delivery_attempts check (attempts >= 0),
    -- When it may be tried, on the lease clock.
    next_lease_us integer not null,
    last_error text,
    -- Null while it waits.
    dead_at integer,
    constraint hook_delivery_key primary key (hook_id, seq)
) strict, without rowid;

create index hook_delivery_waiting on hook_delivery (hook_id, subject_type, subject_id, seq) where dead_at is null;
create index hook_delivery_dead on hook_delivery (hook_id, seq) where dead_at is not null;

-- Off the log: which server tells the hooks of this workspace, until when on the lease clock, and
-- how often that has changed: whoever was replaced writes no more.
create table hook_deliverer (
    id integer not null primary key constraint hook_deliverer_one check (id = 1),
    holder text not null,
    fence integer not null,
    until_us integer not null
) strict;
