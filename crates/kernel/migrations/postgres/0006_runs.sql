-- Runs, the evidence their gates look at, and the work handed out for them.

-- A run: work that moves through phases. Its chain and gates never change; phase and state change
-- only with its revision, which counts its events. `tokens` sums up its dispatches.
create table run (
    id bigint not null primary key,
    project_id bigint not null constraint run_project references project (id) on delete restrict,
    parent_id bigint constraint run_parent references run (id) on delete restrict,
    goal text collate "C" not null,
    -- JSON: the phases in their order, and the checks of each step.
    phases text collate "C" not null,
    gates text collate "C" not null,
    phase text collate "C" not null,
    position bigint not null,
    last_position bigint not null,
    state text collate "C" not null constraint run_state check (state in ('active', 'paused', 'completed', 'cancelled', 'failed')),
    token_budget bigint constraint run_budget check (token_budget >= 0),
    budget_enforced bigint not null constraint run_enforced check (budget_enforced in (0, 1)),
    max_dispatches bigint constraint run_dispatches check (max_dispatches > 0),
    -- JSON: how many dispatches of each kind of agent may be in hand at a time.
    max_per_kind text collate "C" not null,
    metadata text collate "C" not null,
    tokens bigint not null,
    -- Null: the operator.
    agent_id bigint constraint run_agent_id references agent (id) on delete restrict,
    created_at bigint not null,
    ended_at bigint,
    revision bigint not null,
    constraint run_position check (position >= 0 and position <= last_position),
    -- G5: in the last phase if and only if it is completed.
    constraint run_last check ((position = last_position) = (state = 'completed')),
    constraint run_end check ((ended_at is null) = (state in ('active', 'paused'))),
    constraint run_not_own_parent check (parent_id <> id)
);

create index run_by_project on run (project_id, id);
create index run_by_parent on run (parent_id, id) where parent_id is not null;
create index run_live on run (project_id, id) where state in ('active', 'paused');

-- Phases that the next advance jumps.
create table run_skip (
    run_id bigint not null constraint run_skip_run references run (id) on delete restrict,
    phase text collate "C" not null,
    reason text collate "C" not null,
    created_at bigint not null,
    constraint run_skip_key primary key (run_id, phase)
);

-- What a run left behind in a phase.
create table artifact (
    id bigint not null primary key,
    run_id bigint not null constraint artifact_run references run (id) on delete restrict,
    phase text collate "C" not null,
    kind text collate "C" not null,
    path text collate "C",
    url text collate "C",
    sha256 bytea constraint artifact_sha256 check (length(sha256) = 32),
    -- Null: the operator.
    agent_id bigint constraint artifact_agent references agent (id) on delete restrict,
    created_at bigint not null,
    withdrawn_at bigint,
    constraint artifact_place check (path is not null or url is not null or sha256 is not null)
);

create index artifact_by_run on artifact (run_id, id);
create index artifact_evidence on artifact (run_id, phase, kind) where withdrawn_at is null;

-- What somebody thinks of the work of a phase.
create table verdict (
    id bigint not null primary key,
    run_id bigint not null constraint verdict_run references run (id) on delete restrict,
    phase text collate "C" not null,
    verdict text collate "C" not null constraint verdict_word check (verdict in ('pass', 'warn', 'fail', 'reject')),
    summary text collate "C" not null,
    agent_id bigint constraint verdict_agent references agent (id) on delete restrict,
    -- The dispatch whose worker said so.
    dispatch_id bigint,
    created_at bigint not null,
    withdrawn_at bigint
);

create index verdict_by_run on verdict (run_id, id);
create index verdict_evidence on verdict (run_id, phase, verdict) where withdrawn_at is null;

-- Who said that a phase may be left.
create table approval (
    id bigint not null primary key,
    run_id bigint not null constraint approval_run references run (id) on delete restrict,
    phase text collate "C" not null,
    role text collate "C" not null constraint approval_role check (role in ('operator', 'orchestrator')),
    note text collate "C" not null,
    agent_id bigint constraint approval_agent references agent (id) on delete restrict,
    created_at bigint not null,
    withdrawn_at bigint
);

create index approval_by_run on approval (run_id, id);
create index approval_evidence on approval (run_id, phase, role) where withdrawn_at is null;

-- Agents that take part in a run.
create table run_agent (
    run_id bigint not null constraint run_agent_run references run (id) on delete restrict,
    agent_id bigint not null constraint run_agent_agent references agent (id) on delete restrict,
    role text collate "C" not null,
    outcome text collate "C" constraint run_agent_outcome check (outcome in ('completed', 'failed')),
    started_at bigint not null,
    finished_at bigint,
    constraint run_agent_key primary key (run_id, agent_id),
    constraint run_agent_end check ((outcome is null) = (finished_at is null))
);

create index run_agent_active on run_agent (run_id) where outcome is null;

-- That one run waits for another.
create table run_link (
    upstream_id bigint not null constraint run_link_upstream references run (id) on delete restrict,
    downstream_id bigint not null constraint run_link_downstream references run (id) on delete restrict,
    created_at bigint not null,
    constraint run_link_key primary key (downstream_id, upstream_id),
    constraint run_link_self check (upstream_id <> downstream_id)
);

create index run_link_by_upstream on run_link (upstream_id);

-- Which steps a dispatch may take (H1).
create table dispatch_edge (
    from_state text collate "C" not null,
    to_state text collate "C" not null,
    constraint dispatch_edge_key primary key (from_state, to_state)
);

insert into dispatch_edge (from_state, to_state) values
    ('queued', 'spawned'), ('queued', 'cancelled'), ('queued', 'timed_out'),
    ('spawned', 'running'), ('spawned', 'queued'), ('spawned', 'failed'),
    ('spawned', 'cancelled'), ('spawned', 'timed_out'),
    ('running', 'completed'), ('running', 'queued'), ('running', 'failed'),
    ('running', 'cancelled'), ('running', 'timed_out');

-- Work handed to whoever claims it. There is no second unique key: it would let REPLACE in (H3).
create table dispatch (
    id bigint not null primary key,
    project_id bigint not null constraint dispatch_project references project (id) on delete restrict,
    run_id bigint constraint dispatch_run references run (id) on delete restrict,
    -- The run's phase when it was made.
    phase text collate "C",
    agent_kind text collate "C" not null,
    prompt text collate "C" not null,
    priority bigint not null,
    group_name text collate "C",
    state text collate "C" not null constraint dispatch_state check (state in
        ('queued', 'spawned', 'running', 'completed', 'failed', 'cancelled', 'timed_out')),
    -- The first attempt; a later one is a dispatch of its own.
    origin_id bigint not null constraint dispatch_origin references dispatch (id) on delete restrict,
    retry_of bigint constraint dispatch_retry references dispatch (id) on delete restrict,
    attempt bigint not null constraint dispatch_attempt check (attempt > 0),
    not_before_lease_us bigint not null,
    deadline_lease_us bigint,
    -- The claim: whose (null beside a fence: the operator), the number of the claiming event, and
    -- until when. It stays when the dispatch is settled and goes when it is lost.
    claimant_id bigint constraint dispatch_claimant references agent (id) on delete restrict,
    fence bigint,
    claim_lease_us bigint,
    claims bigint not null,
    tokens bigint not null,
    progress text collate "C" not null,
    verdict text collate "C" constraint dispatch_verdict check (verdict in ('pass', 'warn', 'fail', 'reject')),
    summary text collate "C" not null,
    -- JSON.
    result text collate "C",
    result_sha256 bytea constraint dispatch_result check (length(result_sha256) = 32),
    -- Why it was cancelled or timed out.
    reason text collate "C" not null,
    -- Null: the operator.
    agent_id bigint constraint dispatch_agent references agent (id) on delete restrict,
    created_at bigint not null,
    started_at bigint,
    settled_at bigint,
    revision bigint not null,
    constraint dispatch_claim check ((fence is null) = (claim_lease_us is null)),
    constraint dispatch_in_hand check (state not in ('spawned', 'running') or fence is not null),
    constraint dispatch_free check (state <> 'queued' or (fence is null and claimant_id is null)),
    constraint dispatch_end check (
        (settled_at is null) = (state in ('queued', 'spawned', 'running')))
);

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
    dispatch_id bigint not null constraint dispatch_dependency_dispatch references dispatch (id) on delete restrict,
    origin_id bigint not null constraint dispatch_dependency_origin references dispatch (id) on delete restrict,
    constraint dispatch_dependency_key primary key (dispatch_id, origin_id)
);

create index dispatch_dependency_by_origin on dispatch_dependency (origin_id);

-- What may be claimed: queued, all it waits for completed, its run active. `run_id` is 0 without one.
create table dispatch_queue (
    dispatch_id bigint not null primary key constraint dispatch_queue_dispatch references dispatch (id) on delete restrict,
    project_id bigint not null,
    agent_kind text collate "C" not null,
    run_id bigint not null,
    priority bigint not null,
    not_before_lease_us bigint not null
);

-- Claimed by rank: of all, and of one run.
create index dispatch_queue_rank on dispatch_queue (project_id, agent_kind, priority desc, dispatch_id);
create index dispatch_queue_by_run on dispatch_queue (project_id, agent_kind, run_id, priority desc, dispatch_id);
create index dispatch_queue_of_run on dispatch_queue (run_id);
-- When the next back-off passes, for those who wait.
create index dispatch_queue_later on dispatch_queue (project_id, not_before_lease_us);

-- A lease may belong to a run, and ends with it.
alter table reservation add column run_id bigint constraint reservation_run references run (id) on delete restrict;
create index reservation_by_run on reservation (run_id) where run_id is not null and ended_seq is null;

-- What happened to a run, in order.
create index event_by_run on event (run, seq) where run is not null;

-- What steered a run last, however much else has happened since: its page is written from that.
create index event_steering on event (run, kind, seq) where kind in
    ('run_created', 'run_updated', 'run_advanced', 'gate_overridden', 'run_rolled_back',
    'run_paused', 'run_resumed', 'run_cancelled', 'run_failed');

create function run_insert() returns trigger language plpgsql as $$
begin
    if new.revision is distinct from 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function run_update() returns trigger language plpgsql as $$
begin
    if new.id is distinct from old.id or new.project_id is distinct from old.project_id
        or new.parent_id is distinct from old.parent_id or new.phases is distinct from old.phases
        or new.gates is distinct from old.gates
        or new.last_position is distinct from old.last_position
        or new.agent_id is distinct from old.agent_id
        or new.created_at is distinct from old.created_at
        or new.tokens < old.tokens or new.revision < old.revision
        or new.revision > old.revision + 1
        or (old.state = 'cancelled' and new.state <> 'cancelled')
        or (new.revision = old.revision and (new.phase is distinct from old.phase
            or new.position is distinct from old.position
            or new.state is distinct from old.state)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger run_insert before insert on run for each row execute function run_insert();
create trigger run_update before update on run for each row execute function run_update();
create trigger run_delete before delete on run for each row execute function refuse();
create trigger run_truncate before truncate on run for each statement execute function refuse();

create trigger dispatch_edge_insert before insert on dispatch_edge for each row execute function refuse();
create trigger dispatch_edge_update before update on dispatch_edge for each row execute function refuse();
create trigger dispatch_edge_delete before delete on dispatch_edge for each row execute function refuse();
create trigger dispatch_edge_truncate before truncate on dispatch_edge for each statement execute function refuse();

create function dispatch_insert() returns trigger language plpgsql as $$
begin
    if new.state is distinct from 'queued' or new.revision is distinct from 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create function dispatch_update() returns trigger language plpgsql as $$
begin
    if old.state in ('completed', 'failed', 'cancelled', 'timed_out')
        or new.id is distinct from old.id or new.revision is distinct from old.revision + 1
        or new.project_id is distinct from old.project_id
        or new.run_id is distinct from old.run_id or new.prompt is distinct from old.prompt
        or new.origin_id is distinct from old.origin_id or new.tokens < old.tokens
        or (new.state is distinct from old.state and not exists (
            select 1 from dispatch_edge
            where from_state = old.state and to_state = new.state)) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger dispatch_insert before insert on dispatch for each row execute function dispatch_insert();
create trigger dispatch_update before update on dispatch for each row execute function dispatch_update();
create trigger dispatch_delete before delete on dispatch for each row execute function refuse();
create trigger dispatch_truncate before truncate on dispatch for each statement execute function refuse();

create or replace function reservation_update() returns trigger language plpgsql as $$
begin
    if old.ended_seq is not null or new.expires_lease_us < old.expires_lease_us
        or new.id is distinct from old.id or new.kind is distinct from old.kind
        or new.project_id is distinct from old.project_id
        or new.agent_id is distinct from old.agent_id
        or new.pattern is distinct from old.pattern
        or new.pattern_key is distinct from old.pattern_key
        or new.key_hash is distinct from old.key_hash
        or new.exclusive is distinct from old.exclusive or new.run_id is distinct from old.run_id
        or new.reason is distinct from old.reason or new.fence is distinct from old.fence
        or new.created_at is distinct from old.created_at
        or new.created_lease_us is distinct from old.created_lease_us then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;
