-- Consumers of the log, and the callers' own streams.

-- A stream: events of the callers' own, numbered without a gap. `version` is the number of the last
-- one, which a writer may expect (I2).
create table stream (
    id bigint not null primary key,
    project_id bigint not null constraint stream_project references project (id) on delete restrict,
    name text collate "C" not null,
    version bigint not null constraint stream_version check (version > 0),
    created_at bigint not null,
    revision bigint not null,
    constraint stream_name unique (project_id, name)
);

-- Where each event of a stream is in the log. What it says is in the log alone.
create table stream_event (
    stream_id bigint not null constraint stream_event_stream references stream (id) on delete restrict,
    version bigint not null,
    seq bigint not null,
    constraint stream_event_pkey primary key (stream_id, version)
);

-- Somebody who reads the log and says how far it has come.
create table consumer (
    id bigint not null primary key,
    -- Null: of the whole workspace.
    project_id bigint constraint consumer_project references project (id) on delete restrict,
    name text collate "C" not null,
    filter text collate "C" not null,
    -- Null: durable, and pruning waits for it.
    ttl_us bigint constraint consumer_ttl check (ttl_us > 0),
    -- One more whenever somebody takes it over or moves it.
    generation bigint not null constraint consumer_generation check (generation > 0),
    -- Who registered it last; null: the operator.
    agent_id bigint constraint consumer_agent references agent (id) on delete restrict,
    -- Where it starts, and the event that said so: a cursor from before that one counts no more.
    since bigint not null,
    placed_seq bigint not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    registered_at bigint not null,
    registered_lease_us bigint not null,
    -- Not null: nobody asked for so long that it is gone.
    ended_at bigint,
    revision bigint not null
);
create unique index consumer_name on consumer (project_id, name) where project_id is not null;
create unique index consumer_workspace_name on consumer (name) where project_id is null;
create index consumer_passing on consumer (id) where ttl_us is not null and ended_at is null;

-- How far a consumer has come: off the log, for it would double it.
create table consumer_cursor (
    consumer_id bigint not null primary key
        constraint consumer_cursor_consumer references consumer (id) on delete restrict,
    -- The consumer's `placed_seq` that it belongs to.
    placed_seq bigint not null,
    seq bigint not null,
    -- The whole of it as JSON, with what other versions of the program keep there (I5).
    document text collate "C" not null,
    acked_at bigint,
    -- When the consumer last asked or acknowledged.
    seen_at bigint not null,
    seen_lease_us bigint not null
);

create function stream_insert() returns trigger language plpgsql as $$
begin
    if new.version is distinct from 1 or new.revision is distinct from 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function stream_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.project_id is distinct from old.project_id
        or new.name is distinct from old.name or new.version is distinct from old.version + 1
        or new.revision is distinct from old.revision + 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger stream_insert before insert on stream for each row execute function stream_insert();
create trigger stream_update before update on stream for each row execute function stream_update();
create trigger stream_delete before delete on stream for each row execute function refuse();
create trigger stream_truncate before truncate on stream for each statement execute function refuse();

create trigger stream_event_update before update on stream_event for each row execute function refuse();
create trigger stream_event_delete before delete on stream_event for each row execute function refuse();
create trigger stream_event_truncate before truncate on stream_event for each statement execute function refuse();

create function consumer_insert() returns trigger language plpgsql as $$
begin
    if new.generation is distinct from 1 or new.revision is distinct from 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function consumer_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.project_id is distinct from old.project_id
        or new.name is distinct from old.name or new.generation < old.generation
        or new.placed_seq < old.placed_seq
        or new.revision is distinct from old.revision + 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger consumer_insert before insert on consumer for each row execute function consumer_insert();
create trigger consumer_update before update on consumer for each row execute function consumer_update();
create trigger consumer_delete before delete on consumer for each row execute function refuse();
create trigger consumer_truncate before truncate on consumer for each statement execute function refuse();

-- An acknowledgement never goes back but where the consumer itself was moved (I7).
create function consumer_cursor_update() returns trigger language plpgsql as $$
begin
    if new.consumer_id is distinct from old.consumer_id or new.placed_seq < old.placed_seq
        or (new.placed_seq = old.placed_seq and new.seq < old.seq) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger consumer_cursor_update before update on consumer_cursor for each row execute function consumer_cursor_update();
