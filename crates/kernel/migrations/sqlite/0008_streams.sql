-- Consumers of the log, and the callers' own streams.

-- A stream: events of the callers' own, numbered without a gap. `version` is the number of the last
-- one, which a writer may expect (I2).
create table stream (
    id integer not null primary key,
    project_id integer not null constraint stream_project references project (id) on delete restrict,
    name text not null,
    version integer not null constraint stream_version check (version > 0),
    created_at integer not null,
    revision integer not null,
    constraint stream_name unique (project_id, name)
) strict;

-- Where each event of a stream is in the log. What it says is in the log alone.
create table stream_event (
    stream_id integer not null constraint stream_event_stream references stream (id) on delete restrict,
    version integer not null,
    seq integer not null,
    constraint stream_event_pkey primary key (stream_id, version)
) strict, without rowid;

-- Somebody who reads the log and says how far it has come.
create table consumer (
    id integer not null primary key,
    -- Null: of the whole workspace.
    project_id integer constraint consumer_project references project (id) on delete restrict,
    name text not null,
    filter text not null,
    -- Null: durable, and pruning waits for it.
    ttl_us integer constraint consumer_ttl check (ttl_us > 0),
    -- One more whenever somebody takes it over or moves it.
    generation integer not null constraint consumer_generation check (generation > 0),
    -- Who registered it last; null: the operator.
    agent_id integer constraint consumer_agent references agent (id) on delete restrict,
    -- Where it starts, and the event that said so: a cursor from before that one counts no more.
    since integer not null,
    placed_seq integer not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    registered_at integer not null,
    registered_lease_us integer not null,
    -- Not null: nobody asked for so long that it is gone.
    ended_at integer,
    revision integer not null
) strict;
create unique index consumer_name on consumer (project_id, name) where project_id is not null;
create unique index consumer_workspace_name on consumer (name) where project_id is null;
create index consumer_passing on consumer (id) where ttl_us is not null and ended_at is null;

-- How far a consumer has come: off the log, for it would double it.
create table consumer_cursor (
    consumer_id integer not null primary key
        constraint consumer_cursor_consumer references consumer (id) on delete restrict,
    -- The consumer's `placed_seq` that it belongs to.
    placed_seq integer not null,
    seq integer not null,
    -- The whole of it as JSON, with what other versions of the program keep there (I5).
    document text not null,
    acked_at integer,
    -- When the consumer last asked or acknowledged.
    seen_at integer not null,
    seen_lease_us integer not null
) strict;

create trigger stream_insert before insert on stream
when new.version is not 1 or new.revision is not 1
    or exists (select 1 from stream where id = new.id)
begin select raise(abort, 'stream_insert'); end;
create trigger stream_update before update on stream
when new.id is not old.id or new.project_id is not old.project_id or new.name is not old.name
    or new.version is not old.version + 1 or new.revision is not old.revision + 1
begin select raise(abort, 'stream_update'); end;
create trigger stream_delete before delete on stream
begin select raise(abort, 'stream_delete'); end;

create trigger stream_event_insert before insert on stream_event
when exists (select 1 from stream_event where stream_id = new.stream_id and version = new.version)
begin select raise(abort, 'stream_event_insert'); end;
create trigger stream_event_update before update on stream_event
begin select raise(abort, 'stream_event_update'); end;
create trigger stream_event_delete before delete on stream_event
begin select raise(abort, 'stream_event_delete'); end;

create trigger consumer_insert before insert on consumer
when new.generation is not 1 or new.revision is not 1
    or exists (select 1 from consumer where id = new.id)
begin select raise(abort, 'consumer_insert'); end;
create trigger consumer_update before update on consumer
when new.id is not old.id or new.project_id is not old.project_id or new.name is not old.name
    or new.generation < old.generation or new.placed_seq < old.placed_seq
    or new.revision is not old.revision + 1
begin select raise(abort, 'consumer_update'); end;
create trigger consumer_delete before delete on consumer
begin select raise(abort, 'consumer_delete'); end;

-- An acknowledgement never goes back but where the consumer itself was moved (I7).
create trigger consumer_cursor_update before update on consumer_cursor
when new.consumer_id is not old.consumer_id or new.placed_seq < old.placed_seq
    or (new.placed_seq is old.placed_seq and new.seq < old.seq)
begin select raise(abort, 'consumer_cursor_update'); end;
