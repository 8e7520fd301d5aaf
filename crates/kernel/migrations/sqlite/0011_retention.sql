-- Payloads that were redacted, and the part of the log that only the archive has.

-- Which events were redacted, and what is left of each. The number is that of the event.
create table redaction (
    id integer not null primary key,
    kind text not null,
    subject_type text not null,
    subject_id integer not null,
    reason text not null,
    -- JSON: the payload without what somebody wrote; the log has it in the payload's place.
    remnant text not null,
    redacted_seq integer not null,
    redacted_at integer not null,
    revision integer not null,
    constraint redaction_later check (redacted_seq > id)
) strict;

create index redaction_by_subject on redaction (subject_type, subject_id);
create index redaction_by_seq on redaction (redacted_seq);

-- Only the log redacts, once and for ever.
create trigger redaction_insert before insert on redaction
when exists (select 1 from redaction where id = new.id)
    or not exists (select 1 from event where seq = new.redacted_seq and kind = 'event_redacted'
        and subject_type = 'redaction' and subject_id = new.id)
begin select raise(abort, 'redaction_insert'); end;
create trigger redaction_update before update on redaction
begin select raise(abort, 'redaction_update'); end;
create trigger redaction_delete before delete on redaction
begin select raise(abort, 'redaction_delete'); end;

-- A payload changes once: to what is left of it.
drop trigger event_update;
create trigger event_update before update on event
when new.seq is not old.seq or new.at is not old.at or new.v is not old.v
    or new.kind is not old.kind or new.project is not old.project or new.actor is not old.actor
    or new.subject_type is not old.subject_type or new.subject_id is not old.subject_id
    or new.run is not old.run or new.correlation is not old.correlation
    or new.payload_sha256 is not old.payload_sha256 or new.hash is not old.hash
    or new.payload is null
    or new.payload is not (select remnant from redaction where id = old.seq)
begin select raise(abort, 'event_update'); end;

-- What somebody wrote about a dispatch may be blanked, whatever its state, if an event of it was
-- redacted; nothing else changes then.
drop trigger dispatch_update;
create trigger dispatch_update before update on dispatch
when (old.state in ('completed', 'failed', 'cancelled', 'timed_out')
        or new.id is not old.id or new.revision is not old.revision + 1
        or new.project_id is not old.project_id or new.run_id is not old.run_id
        or new.prompt is not old.prompt or new.origin_id is not old.origin_id
        or new.tokens < old.tokens
        or (new.state is not old.state and not exists (
            select 1 from dispatch_edge where from_state = old.state and to_state = new.state)))
    and (not exists (select 1 from redaction
            where subject_type = 'dispatch' and subject_id = old.id)
        or new.id is not old.id or new.project_id is not old.project_id
        or new.run_id is not old.run_id or new.phase is not old.phase
        or new.agent_kind is not old.agent_kind or new.priority is not old.priority
        or new.group_name is not old.group_name or new.state is not old.state
        or new.origin_id is not old.origin_id or new.retry_of is not old.retry_of
        or new.attempt is not old.attempt
        or new.not_before_lease_us is not old.not_before_lease_us
        or new.deadline_lease_us is not old.deadline_lease_us
        or new.claimant_id is not old.claimant_id or new.fence is not old.fence
        or new.claim_lease_us is not old.claim_lease_us or new.claims is not old.claims
        or new.tokens is not old.tokens or new.verdict is not old.verdict
        or new.result_sha256 is not old.result_sha256 or new.agent_id is not old.agent_id
        or new.created_at is not old.created_at or new.started_at is not old.started_at
        or new.settled_at is not old.settled_at or new.revision is not old.revision
        or (new.prompt is not old.prompt and new.prompt is not '[redacted]')
        or (new.progress is not old.progress and new.progress is not '[redacted]')
        or (new.summary is not old.summary and new.summary is not '[redacted]')
        or (new.result is not old.result and new.result is not '"[redacted]"')
        or (new.reason is not old.reason and new.reason is not '[redacted]'))
begin select raise(abort, 'dispatch_update'); end;

-- So may the reason of a lease whose grant was redacted; the grant is the event of its fence.
drop trigger reservation_update;
create trigger reservation_update before update on reservation
when new.id is not old.id or new.kind is not old.kind or new.project_id is not old.project_id
    or new.agent_id is not old.agent_id or new.pattern is not old.pattern
    or new.pattern_key is not old.pattern_key or new.key_hash is not old.key_hash
    or new.exclusive is not old.exclusive or new.run_id is not old.run_id
    or new.fence is not old.fence or new.created_at is not old.created_at
    or new.created_lease_us is not old.created_lease_us
    or ((old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
            or new.reason is not old.reason)
        and (not exists (select 1 from redaction where id = old.fence)
            or new.reason is not '[redacted]'
            or new.expires_lease_us is not old.expires_lease_us
            or new.ended_at is not old.ended_at or new.ended_seq is not old.ended_seq
            or new.ended is not old.ended))
begin select raise(abort, 'reservation_update'); end;

-- So may what somebody wrote about a discovery.
drop trigger discovery_update;
create trigger discovery_update before update on discovery
when (new.id is not old.id or new.revision is not old.revision + 1
        or new.project_id is not old.project_id or new.source is not old.source
        or new.source_id is not old.source_id or new.agent_id is not old.agent_id
        or new.discovered_at is not old.discovered_at
        or new.discovered_lease_us is not old.discovered_lease_us
        or (old.score is not null and new.score is null)
        or (new.state is not old.state and not exists (
            select 1 from discovery_edge where from_state = old.state and to_state = new.state))
        or (old.state in ('promoted', 'dismissed') and (new.score is not old.score
            or new.ref is not old.ref or new.settled_at is not old.settled_at
            or new.decayed_lease_us is not old.decayed_lease_us)))
    and (not exists (select 1 from redaction
            where subject_type = 'discovery' and subject_id = old.id)
        or new.id is not old.id or new.project_id is not old.project_id
        or new.source is not old.source or new.source_id is not old.source_id
        or new.score is not old.score or new.state is not old.state
        or new.agent_id is not old.agent_id or new.discovered_at is not old.discovered_at
        or new.discovered_lease_us is not old.discovered_lease_us
        or new.decayed_lease_us is not old.decayed_lease_us
        or new.settled_at is not old.settled_at or new.revision is not old.revision
        or (new.title is not old.title and new.title is not '[redacted]')
        or (new.summary is not old.summary and new.summary is not '[redacted]')
        or (new.url is not old.url and new.url is not '[redacted]')
        or (new.ref is not old.ref and new.ref is not '[redacted]')
        or (new.reason is not old.reason and new.reason is not '[redacted]'))
begin select raise(abort, 'discovery_update'); end;

-- So may a value of state, in whichever place it is kept.
drop trigger state_entry_update;
create trigger state_entry_update before update on state_entry
when new.id is not old.id or new.scope_id is not old.scope_id or new.key is not old.key
    or new.created_at is not old.created_at
    or (new.ended is null and new.version is not old.version + 1
        and (old.ended is not null or new.version is not old.version
            or not exists (select 1 from redaction
                where subject_type = 'state_scope' and subject_id = old.scope_id)
            or new.value is not '"[redacted]"' or new.bytes is not old.bytes
            or new.agent_id is not old.agent_id or new.saved_at is not old.saved_at
            or new.saved_lease_us is not old.saved_lease_us
            or new.expires_lease_us is not old.expires_lease_us))
    or (new.ended is not null and (old.ended is not null or new.version is not old.version))
begin select raise(abort, 'state_entry_update'); end;

-- A vector reveals what was said, and goes with the event that brought it.
drop trigger discovery_vector_delete;
create trigger discovery_vector_delete before delete on discovery_vector
when not exists (select 1 from redaction where id = old.seq)
begin select raise(abort, 'discovery_vector_delete'); end;

-- Up to where an archive was made anew: it holds nothing that was redacted before.
alter table archive add column clean_to integer not null default 0;

-- Words that are taken out of the index leave nothing behind.
insert into message_text (message_text, rank) values ('secure-delete', 1);
insert into discovery_text (discovery_text, rank) values ('secure-delete', 1);

-- Places up to which the log was pruned, and what it came to there. The number is that of the last event.
create table checkpoint (
    id integer not null primary key,
    hash blob not null constraint checkpoint_hash check (length(hash) = 32),
    state_hash text not null,
    schema integer not null,
    pruned_seq integer not null,
    pruned_at integer not null,
    revision integer not null,
    constraint checkpoint_later check (pruned_seq > id)
) strict;

-- Only the log has checkpoints, once and for ever.
create trigger checkpoint_insert before insert on checkpoint
when exists (select 1 from checkpoint where id = new.id)
    or not exists (select 1 from event where seq = new.pruned_seq and kind = 'log_pruned'
        and subject_type = 'checkpoint' and subject_id = new.id)
begin select raise(abort, 'checkpoint_insert'); end;
create trigger checkpoint_update before update on checkpoint
begin select raise(abort, 'checkpoint_update'); end;
create trigger checkpoint_delete before delete on checkpoint
begin select raise(abort, 'checkpoint_delete'); end;

-- The log begins behind a checkpoint, or at its first event.
create trigger log_head_pruned before update on log_head
when new.pruned_to is not old.pruned_to
    and not exists (select 1 from checkpoint where id = new.pruned_to)
begin select raise(abort, 'log_head_pruned'); end;

-- Off the log: what the pages of runs show of events that were pruned.
create table pruned_event (
    seq integer not null primary key,
    at integer not null,
    v integer not null,
    kind text not null,
    project integer,
    actor text not null,
    subject_type text not null,
    subject_id integer not null,
    run integer not null,
    correlation text,
    payload_sha256 blob not null,
    payload text,
    hash blob not null
) strict;
create index pruned_event_by_run on pruned_event (run, seq);

-- Off the log: how many events of each run were pruned.
create table pruned_run (
    run integer not null primary key,
    events integer not null
) strict;
