-- Payloads that were redacted, and the part of the log that only the archive has.

-- Which events were redacted, and what is left of each. The number is that of the event.
create table redaction (
    id bigint not null primary key,
    kind text collate "C" not null,
    subject_type text collate "C" not null,
    subject_id bigint not null,
    reason text collate "C" not null,
    -- JSON: the payload without what somebody wrote; the log has it in the payload's place.
    remnant text collate "C" not null,
    redacted_seq bigint not null,
    redacted_at bigint not null,
    revision bigint not null,
    constraint redaction_later check (redacted_seq > id)
);

create index redaction_by_subject on redaction (subject_type, subject_id);
create index redaction_by_seq on redaction (redacted_seq);

-- Only the log redacts, once and for ever.
create function redaction_insert() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from event where seq = new.redacted_seq and kind = 'event_redacted'
        and subject_type = 'redaction' and subject_id = new.id) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger redaction_insert before insert on redaction for each row execute function redaction_insert();
create trigger redaction_update before update on redaction for each row execute function refuse();
create trigger redaction_delete before delete on redaction for each row execute function refuse();
create trigger redaction_truncate before truncate on redaction for each statement execute function refuse();

-- A payload changes once: to what is left of it.
create function event_update() returns trigger language plpgsql as $$
begin
    if new.seq is distinct from old.seq or new.at is distinct from old.at
        or new.v is distinct from old.v or new.kind is distinct from old.kind
        or new.project is distinct from old.project or new.actor is distinct from old.actor
        or new.subject_type is distinct from old.subject_type
        or new.subject_id is distinct from old.subject_id or new.run is distinct from old.run
        or new.correlation is distinct from old.correlation
        or new.payload_sha256 is distinct from old.payload_sha256
        or new.hash is distinct from old.hash or new.payload is null
        or new.payload is distinct from (select remnant from redaction where id = old.seq) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

drop trigger event_update on event;
create trigger event_update before update on event for each row execute function event_update();

-- What somebody wrote about a dispatch may be blanked, whatever its state, if an event of it was
-- redacted; nothing else changes then.
create or replace function dispatch_update() returns trigger language plpgsql as $$
begin
    if old.state in ('completed', 'failed', 'cancelled', 'timed_out')
        or new.id is distinct from old.id or new.revision is distinct from old.revision + 1
        or new.project_id is distinct from old.project_id
        or new.run_id is distinct from old.run_id or new.prompt is distinct from old.prompt
        or new.origin_id is distinct from old.origin_id or new.tokens < old.tokens
        or (new.state is distinct from old.state and not exists (
            select 1 from dispatch_edge
            where from_state = old.state and to_state = new.state)) then
        if not exists (select 1 from redaction
                where subject_type = 'dispatch' and subject_id = old.id)
            or new.id is distinct from old.id or new.project_id is distinct from old.project_id
            or new.run_id is distinct from old.run_id or new.phase is distinct from old.phase
            or new.agent_kind is distinct from old.agent_kind
            or new.priority is distinct from old.priority
            or new.group_name is distinct from old.group_name
            or new.state is distinct from old.state
            or new.origin_id is distinct from old.origin_id
            or new.retry_of is distinct from old.retry_of
            or new.attempt is distinct from old.attempt
            or new.not_before_lease_us is distinct from old.not_before_lease_us
            or new.deadline_lease_us is distinct from old.deadline_lease_us
            or new.claimant_id is distinct from old.claimant_id
            or new.fence is distinct from old.fence
            or new.claim_lease_us is distinct from old.claim_lease_us
            or new.claims is distinct from old.claims or new.tokens is distinct from old.tokens
            or new.verdict is distinct from old.verdict
            or new.result_sha256 is distinct from old.result_sha256
            or new.agent_id is distinct from old.agent_id
            or new.created_at is distinct from old.created_at
            or new.started_at is distinct from old.started_at
            or new.settled_at is distinct from old.settled_at
            or new.revision is distinct from old.revision
            or (new.prompt is distinct from old.prompt and new.prompt <> '[redacted]')
            or (new.progress is distinct from old.progress and new.progress <> '[redacted]')
            or (new.summary is distinct from old.summary and new.summary <> '[redacted]')
            or (new.result is distinct from old.result
                and new.result is distinct from '"[redacted]"')
            or (new.reason is distinct from old.reason and new.reason <> '[redacted]') then
            raise exception using errcode = 'restrict_violation', message = tg_name;
        end if;
    end if;
    return new;
end $$;

-- So may the reason of a lease whose grant was redacted; the grant is the event of its fence.
create or replace function reservation_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.kind is distinct from old.kind
        or new.project_id is distinct from old.project_id
        or new.agent_id is distinct from old.agent_id
        or new.pattern is distinct from old.pattern
        or new.pattern_key is distinct from old.pattern_key
        or new.key_hash is distinct from old.key_hash
        or new.exclusive is distinct from old.exclusive or new.run_id is distinct from old.run_id
        or new.fence is distinct from old.fence
        or new.created_at is distinct from old.created_at
        or new.created_lease_us is distinct from old.created_lease_us
        or ((old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
                or new.reason is distinct from old.reason)
            and (not exists (select 1 from redaction where id = old.fence)
                or new.reason is distinct from '[redacted]'
                or new.expires_lease_us is distinct from old.expires_lease_us
                or new.ended_at is distinct from old.ended_at
                or new.ended_seq is distinct from old.ended_seq
                or new.ended is distinct from old.ended)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

-- So may what somebody wrote about a discovery.
create or replace function discovery_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.revision is distinct from old.revision + 1
        or new.project_id is distinct from old.project_id
        or new.source is distinct from old.source
        or new.source_id is distinct from old.source_id
        or new.agent_id is distinct from old.agent_id
        or new.discovered_at is distinct from old.discovered_at
        or new.discovered_lease_us is distinct from old.discovered_lease_us
        or (old.score is not null and new.score is null)
        or (new.state is distinct from old.state and not exists (
            select 1 from discovery_edge
            where from_state = old.state and to_state = new.state))
        or (old.state in ('promoted', 'dismissed') and (new.score is distinct from old.score
            or new.ref is distinct from old.ref
            or new.settled_at is distinct from old.settled_at
            or new.decayed_lease_us is distinct from old.decayed_lease_us)) then
        if not exists (select 1 from redaction
                where subject_type = 'discovery' and subject_id = old.id)
            or new.id is distinct from old.id or new.project_id is distinct from old.project_id
            or new.source is distinct from old.source
            or new.source_id is distinct from old.source_id
            or new.score is distinct from old.score or new.state is distinct from old.state
            or new.agent_id is distinct from old.agent_id
            or new.discovered_at is distinct from old.discovered_at
            or new.discovered_lease_us is distinct from old.discovered_lease_us
            or new.decayed_lease_us is distinct from old.decayed_lease_us
            or new.settled_at is distinct from old.settled_at
            or new.revision is distinct from old.revision
            or (new.title is distinct from old.title and new.title <> '[redacted]')
            or (new.summary is distinct from old.summary and new.summary <> '[redacted]')
            or (new.url is distinct from old.url and new.url is distinct from '[redacted]')
            or (new.ref is distinct from old.ref and new.ref is distinct from '[redacted]')
            or (new.reason is distinct from old.reason and new.reason <> '[redacted]') then
            raise exception using errcode = 'restrict_violation', message = tg_name;
        end if;
    end if;
    return new;
end $$;

-- So may a value of state, in whichever place it is kept.
create or replace function state_entry_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.scope_id is distinct from old.scope_id
        or new.key is distinct from old.key or new.created_at is distinct from old.created_at
        or (new.ended is null and new.version is distinct from old.version + 1
            and (old.ended is not null or new.version is distinct from old.version
                or not exists (select 1 from redaction
                    where subject_type = 'state_scope' and subject_id = old.scope_id)
                or new.value is distinct from '"[redacted]"'
                or new.bytes is distinct from old.bytes
                or new.agent_id is distinct from old.agent_id
                or new.saved_at is distinct from old.saved_at
                or new.saved_lease_us is distinct from old.saved_lease_us
                or new.expires_lease_us is distinct from old.expires_lease_us))
        or (new.ended is not null and (old.ended is not null
            or new.version is distinct from old.version)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

-- A vector reveals what was said, and goes with the event that brought it.
create function discovery_vector_delete() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from redaction where id = old.seq) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return old;
end $$;

drop trigger discovery_vector_delete on discovery_vector;
create trigger discovery_vector_delete before delete on discovery_vector for each row execute function discovery_vector_delete();

-- Up to where an archive was made anew: it holds nothing that was redacted before.
alter table archive add column clean_to bigint not null default 0;

-- Places up to which the log was pruned, and what it came to there. The number is that of the last event.
create table checkpoint (
    id bigint not null primary key,
    hash bytea not null constraint checkpoint_hash check (length(hash) = 32),
    state_hash text collate "C" not null,
    schema bigint not null,
    pruned_seq bigint not null,
    pruned_at bigint not null,
    revision bigint not null,
    constraint checkpoint_later check (pruned_seq > id)
);

-- Only the log has checkpoints, once and for ever.
create function checkpoint_insert() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from event where seq = new.pruned_seq and kind = 'log_pruned'
        and subject_type = 'checkpoint' and subject_id = new.id) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger checkpoint_insert before insert on checkpoint for each row execute function checkpoint_insert();
create trigger checkpoint_update before update on checkpoint for each row execute function refuse();
create trigger checkpoint_delete before delete on checkpoint for each row execute function refuse();
create trigger checkpoint_truncate before truncate on checkpoint for each statement execute function refuse();

-- The log begins behind a checkpoint, or at its first event.
create function log_head_pruned() returns trigger language plpgsql as $$
begin
    if new.pruned_to is distinct from old.pruned_to
        and not exists (select 1 from checkpoint where id = new.pruned_to) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger log_head_pruned before update on log_head for each row execute function log_head_pruned();

-- Off the log: what the pages of runs show of events that were pruned.
create table pruned_event (
    seq bigint not null primary key,
    at bigint not null,
    v bigint not null,
    kind text collate "C" not null,
    project bigint,
    actor text collate "C" not null,
    subject_type text collate "C" not null,
    subject_id bigint not null,
    run bigint not null,
    correlation text collate "C",
    payload_sha256 bytea not null,
    payload text collate "C",
    hash bytea not null
);
create index pruned_event_by_run on pruned_event (run, seq);

-- Off the log: how many events of each run were pruned.
create table pruned_run (
    run bigint not null primary key,
    events bigint not null
);
