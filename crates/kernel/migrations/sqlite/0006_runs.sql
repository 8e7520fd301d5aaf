-- Runs, the evidence their gates look at, and the work handed out for them.

-- A run: work that moves through phases. Its chain and gates never change; phase and state change
-- only with its revision, which counts its events. `tokens` sums up its dispatches.
create table run (
    id integer not null primary key,
    project_id integer not null constraint run_project references project (id) on delete restrict,
    parent_id integer constraint run_parent references run (id) on delete restrict,
    goal text not null,
    -- JSON: the phases in their order, and the checks of each step.
    phases text not null,
    gates text not null,
    phase text not null,
    position integer not null,
    last_position integer not null,
    state text not null constraint run_state check (state in ('active', 'paused', 'completed', 'cancelled', 'failed')),
    token_budget integer constraint run_budget check (token_budget >= 0),
    budget_enforced integer not null constraint run_enforced check (budget_enforced in (0, 1)),
    max_dispatches integer constraint run_dispatches check (max_dispatches > 0),
    -- JSON: how many dispatches of each kind of agent may be in hand at a time.
    max_per_kind text not null,
    metadata text not null,
    tokens integer not null,
    -- Null: the operator.
    agent_id integer constraint run_agent_id references agent (id) on delete restrict,
    created_at integer not null,
    ended_at integer,
    revision integer not null,
    constraint run_position check (position >= 0 and position <= last_position),
    -- G5: in the last phase if and only if it is completed.
    constraint run_last check ((position = last_position) = (state = 'completed')),
    constraint run_end check ((ended_at is null) = (state in ('active', 'paused'))),
    constraint run_not_own_parent check (parent_id <> id)
) strict;

create index run_by_project on run (project_id, id);
create index run_by_parent on run (parent_id, id) where parent_id is not null;
create index run_live on run (project_id, id) where state in ('active', 'paused');

-- Phases that the next advance jumps.
create table run_skip (
    run_id integer not null constraint run_skip_run references run (id) on delete restrict,
    phase text not null,
    reason text not null,
    created_at integer not null,
    constraint run_skip_key primary key (run_id, phase)
) strict;

-- What a run left behind in a phase.
create table artifact (
    id integer not null primary key,
    run_id integer not null constraint artifact_run references run (id) on delete restrict,
    phase text not null,
    kind text not null,
    path text,
    url text,
    sha256 blob constraint artifact_sha256 check (length(sha256) = 32),
    -- Null: the operator.
    agent_id integer constraint artifact_agent references agent (id) on delete restrict,
    created_at integer not null,
    withdrawn_at integer,
    constraint artifact_place check (path is not null or url is not null or sha256 is not null)
) strict;

create index artifact_by_run on artifact (run_id, id);
create index artifact_evidence on artifact (run_id, phase, kind) where withdrawn_at is null;

-- What somebody thinks of the work of a phase.
create table verdict (
    id integer not null primary key,
    run_id integer not null constraint verdict_run references run (id) on delete restrict,
    phase text not null,
    verdict text not null constraint verdict_word check (verdict in ('pass', 'warn', 'fail', 'reject')),
    summary text not null,
    agent_id integer constraint verdict_agent references agent (id) on delete restrict,
    -- The dispatch whose worker said so.
    dispatch_id integer,
    created_at integer not null,
    withdrawn_at integer
) strict;

create index verdict_by_run on verdict (run_id, id);
create index verdict_evidence on verdict (run_id, phase, verdict) where withdrawn_at is null;

-- Who said that a phase may be left.
create table approval (
    id integer not null primary key,
    run_id integer not null constraint approval_run references run (id) on delete restrict,
    phase text not null,
    role text not null constraint approval_role check (role in ('operator', 'orchestrator')),
    note text not null,
    agent_id integer constraint approval_agent references agent (id) on delete restrict,
    created_at integer not null,
    withdrawn_at integer
) strict;

create index approval_by_run on approval (run_id, id);
create index approval_evidence on approval (run_id, phase, role) where withdrawn_at is null;

-- Agents that take part in a run.
create table run_agent (
    run_id integer not null constraint run_agent_run references run (id) on delete restrict,
    agent_id integer not null constraint run_agent_agent references agent (id) on delete restrict,
    role text not null,
    outcome text constraint run_agent_outcome check (outcome in ('completed', 'failed')),
    started_at integer not null,
    finished_at integer,
    constraint run_agent_key primary key (run_id, agent_id),
    constraint run_agent_end check ((outcome is null) = (finished_at is null))
) strict;

create index run_agent_active on run_agent (run_id) where outcome is null;

-- That one run waits for another.
create table run_link (
    upstream_id integer not null constraint run_link_upstream references run (id) on delete restrict,
    downstream_id integer not null constraint run_link_downstream references run (id) on delete restrict,
    created_at integer not null,
    constraint run_link_key primary key (downstream_id, upstream_id),
    constraint run_link_self check (upstream_id <> downstream_id)
) strict;

create index run_link_by_upstream on run_link (upstream_id);

-- Which steps a dispatch may take (H1).
create table dispatch_edge (
    from_state text not null,
    to_state text not null,
    constraint dispatch_edge_key primary key (from_state, to_state)
) strict;

insert into dispatch_edge (from_state, to_state) values
    ('queued', 'spawned'), ('queued', 'cancelled'), ('queued', 'timed_out'),
    ('spawned', 'running'), ('spawned', 'queued'), ('spawned', 'failed'),
    ('spawned', 'cancelled'), ('spawned', 'timed_out'),
    ('running', 'completed'), ('running', 'queued'), ('running', 'failed'),
    ('running', 'cancelled'), ('running', 'timed_out');

-- Work handed to whoever claims it. There is no second unique key: it would let REPLACE in (H3).
create table dispatch (
    id integer not null primary key,
    project_id integer not null constraint dispatch_project references project (id) on delete restrict,
    run_id integer constraint dispatch_run references run (id) on delete restrict,
    -- The run's phase when it was made.
    phase text,
    agent_kind text not null,
    prompt text not null,
    priority integer not null,
    group_name text,
    state text not null constraint dispatch_state check (state in
        ('queued', 'spawned', 'running', 'completed', 'failed', 'cancelled', 'timed_out')),
    -- The first attempt; a later one is a dispatch of its own.
    origin_id integer not null constraint dispatch_origin references dispatch (id) on delete restrict,
    retry_of integer constraint dispatch_retry references dispatch (id) on delete restrict,
    attempt integer not null constraint dispatch_attempt check (attempt > 0),
    not_before_lease_us integer not null,
    deadline_lease_us integer,
    -- The claim: whose (null beside a fence: the operator), the number of the claiming event, and
    -- until when. It stays when the dispatch is settled and goes when it is lost.
    claimant_id integer constraint dispatch_claimant references agent (id) on delete restrict,
    fence integer,
    claim_lease_us integer,
    claims integer not null,
    tokens integer not null,
    progress text not null,
    verdict text constraint dispatch_verdict check (verdict in ('pass', 'warn', 'fail', 'reject')),
    summary text not null,
    -- JSON.
    result text,
    result_sha256 blob constraint dispatch_result check (length(result_sha256) = 32),
    -- Why it was cancelled or timed out.
    reason text not null,
    -- Null: the operator.
    agent_id integer constraint dispatch_agent references agent (id) on delete restrict,
    created_at integer not null,
    started_at integer,
    settled_at integer,
    revision integer not null,
    constraint dispatch_claim check ((fence is null) = (claim_lease_us is null)),
    constraint dispatch_in_hand check (state not in ('spawned', 'running') or fence is not null),
    constraint dispatch_free check (state <> 'queued' or (fence is null and claimant_id is null)),
    constraint dispatch_end check (
        (settled_at is null) = (state in ('queued', 'spawned', 'running')))
) strict;

create index dispatch_by_project on dispatch (project_id, id);
create index dispatch_by_run on dispatch (run_id, id) where run_id is not null;
create index dispatch_by_group on dispatch (project_id, group_name, id) where group_name is not null;
create index dispatch_by_origin on dispatch (origin_id, id);
create index dispatch_by_retry on dispatch (retry_of) where retry_of is not null;
create index dispatch_open on dispatch (run_id, state, agent_kind) where state in ('queued', 'spawned', 'running');
create index dispatch_held on dispatch (claimant_id, id) where state in ('spawned', 'running');
create index dispatch_due on dispatch (claim_lease_us) where state in ('spawned', 'running');
create index dispatch_deadline on dispatch (deadline_lease_us) where state in ('queued', 'spawned', 'running');

-- The first attempts that must be completed, by themselves or by a later attempt, before somebody
-- may claim a dispatch.
create table dispatch_dependency (
    dispatch_id integer not null constraint dispatch_dependency_dispatch references dispatch (id) on delete restrict,
    origin_id integer not null constraint dispatch_dependency_origin references dispatch (id) on delete restrict,
    constraint dispatch_dependency_key primary key (dispatch_id, origin_id)
) strict;

create index dispatch_dependency_by_origin on dispatch_dependency (origin_id);

-- What may be claimed: queued, all it waits for completed, its run active. `run_id` is 0 without one.
create table dispatch_queue (
    dispatch_id integer not null primary key constraint dispatch_queue_dispatch references dispatch (id) on delete restrict,
    project_id integer not null,
    agent_kind text not null,
    run_id integer not null,
    priority integer not null,
    not_before_lease_us integer not null
) strict;

-- Claimed by rank: of all, and of one run.
create index dispatch_queue_rank on dispatch_queue (project_id, agent_kind, priority desc, dispatch_id);
create index dispatch_queue_by_run on dispatch_queue (project_id, agent_kind, run_id, priority desc, dispatch_id);
create index dispatch_queue_of_run on dispatch_queue (run_id);
-- When the next back-off passes, for those who wait.
create index dispatch_queue_later on dispatch_queue (project_id, not_before_lease_us);

-- A lease may belong to a run, and ends with it.
alter table reservation add column run_id integer constraint reservation_run references run (id) on delete restrict;
create index reservation_by_run on reservation (run_id) where run_id is not null and ended_seq is null;

-- What happened to a run, in order.
create index event_by_run on event (run, seq) where run is not null;

-- What steered a run last, however much else has happened since: its page is written from that.
create index event_steering on event (run, kind, seq) where kind in
    ('run_created', 'run_updated', 'run_advanced', 'gate_overridden', 'run_rolled_back',
    'run_paused', 'run_resumed', 'run_cancelled', 'run_failed');

create trigger run_insert before insert on run
when new.revision is not 1 or exists (select 1 from run where id = new.id)
begin select raise(abort, 'run_insert'); end;

create trigger run_update before update on run
when new.id is not old.id or new.project_id is not old.project_id
    or new.parent_id is not old.parent_id or new.phases is not old.phases
    or new.gates is not old.gates or new.last_position is not old.last_position
    or new.agent_id is not old.agent_id or new.created_at is not old.created_at
    or new.tokens < old.tokens or new.revision < old.revision or new.revision > old.revision + 1
    or (old.state is 'cancelled' and new.state is not 'cancelled')
    or (new.revision is old.revision and (new.phase is not old.phase
        or new.position is not old.position or new.state is not old.state))
begin select raise(abort, 'run_update'); end;

create trigger run_delete before delete on run
begin select raise(abort, 'run_delete'); end;

create trigger dispatch_edge_insert before insert on dispatch_edge
begin select raise(abort, 'dispatch_edge_insert'); end;
create trigger dispatch_edge_update before update on dispatch_edge
begin select raise(abort, 'dispatch_edge_update'); end;
create trigger dispatch_edge_delete before delete on dispatch_edge
begin select raise(abort, 'dispatch_edge_delete'); end;

create trigger dispatch_insert before insert on dispatch
when new.state is not 'queued' or new.revision is not 1
    or exists (select 1 from dispatch where id = new.id)
begin select raise(abort, 'dispatch_insert'); end;

create trigger dispatch_update before update on dispatch
when old.state in ('completed', 'failed', 'cancelled', 'timed_out')
    or new.id is not old.id or new.revision is not old.revision + 1
    or new.project_id is not old.project_id or new.run_id is not old.run_id
    or new.prompt is not old.prompt or new.origin_id is not old.origin_id
    or new.tokens < old.tokens
    or (new.state is not old.state and not exists (
        select 1 from dispatch_edge where from_state = old.state and to_state = new.state))
begin select raise(abort, 'dispatch_update'); end;

create trigger dispatch_delete before delete on dispatch
begin select raise(abort, 'dispatch_delete'); end;

drop trigger reservation_update;
create trigger reservation_update before update on reservation
when old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
    or new.id is not old.id or new.kind is not old.kind or new.project_id is not old.project_id
    or new.agent_id is not old.agent_id or new.pattern is not old.pattern
    or new.pattern_key is not old.pattern_key or new.key_hash is not old.key_hash
    or new.exclusive is not old.exclusive or new.run_id is not old.run_id
    or new.reason is not old.reason or new.fence is not old.fence
    or new.created_at is not old.created_at or new.created_lease_us is not old.created_lease_us
begin select raise(abort, 'reservation_update'); end;
