-- Discoveries and what the project is interested in.

-- Which steps a discovery may take (J9). Scoring one again leaves it scored.
create table discovery_edge (
    from_state text collate "C" not null,
    to_state text collate "C" not null,
    constraint discovery_edge_key primary key (from_state, to_state)
);

insert into discovery_edge (from_state, to_state) values
    ('new', 'scored'), ('new', 'promoted'), ('new', 'dismissed'),
    ('scored', 'promoted'), ('scored', 'dismissed');

-- Something worth knowing that somebody found. Its tier is computed by the database from the score,
-- so that nothing can write another one (J4).
create table discovery (
    id bigint not null primary key,
    project_id bigint not null constraint discovery_project references project (id) on delete restrict,
    source text collate "C" not null,
    -- What the source calls it.
    source_id text collate "C" not null,
    title text collate "C" not null,
    summary text collate "C" not null,
    url text collate "C",
    score double precision constraint discovery_score check (score >= 0 and score <= 1),
    tier text collate "C" generated always as (case
        when score is null then null
        when score >= 0.8 then 'high'
        when score >= 0.5 then 'medium'
        when score >= 0.3 then 'low'
        else 'discard' end) stored,
    state text collate "C" not null constraint discovery_state check (state in ('new', 'scored', 'promoted', 'dismissed')),
    -- The work item or run it became.
    ref text collate "C",
    -- Why it was dismissed.
    reason text collate "C" not null,
    -- Null: the operator.
    agent_id bigint constraint discovery_agent references agent (id) on delete restrict,
    discovered_at bigint not null,
    discovered_lease_us bigint not null,
    -- When its score last lost of its value by age.
    decayed_lease_us bigint,
    settled_at bigint,
    revision bigint not null,
    constraint discovery_key unique (project_id, source, source_id),
    constraint discovery_scored check (
        (state <> 'new' or score is null) and (state <> 'scored' or score is not null)),
    constraint discovery_ref check ((ref is not null) = (state = 'promoted')),
    constraint discovery_end check ((settled_at is null) = (state in ('new', 'scored')))
);

create index discovery_by_project on discovery (project_id, id);
create index discovery_by_score on discovery (project_id, score, id);
-- What may lose of its value, and what a source may be rolled back over.
create index discovery_open on discovery (project_id, id) where state in ('new', 'scored');
create index discovery_by_time on discovery (project_id, source, discovered_at) where state in ('new', 'scored');

-- What a discovery says as a vector: little-endian f32, one per model. Models are never mixed (J11).
create table discovery_vector (
    discovery_id bigint not null constraint discovery_vector_discovery references discovery (id) on delete restrict,
    -- The discovery's.
    project_id bigint not null,
    model text collate "C" not null,
    dimension bigint not null constraint discovery_vector_dimension check (dimension > 0),
    vector bytea not null,
    -- The event that brought it. Memory takes vectors in by it, so none is ever changed.
    seq bigint not null constraint discovery_vector_seq unique,
    constraint discovery_vector_key primary key (discovery_id, model),
    constraint discovery_vector_length check (length(vector) = 4 * dimension)
);

create index discovery_vector_by_model on discovery_vector (project_id, model, discovery_id);

-- What people and agents thought of a discovery, by the number of the event.
create table discovery_feedback (
    discovery_id bigint not null constraint discovery_feedback_discovery references discovery (id) on delete restrict,
    seq bigint not null,
    signal text collate "C" not null constraint discovery_feedback_signal check (signal in ('useful', 'not_useful', 'known', 'wrong')),
    note text collate "C" not null,
    -- Null: the operator.
    agent_id bigint constraint discovery_feedback_agent references agent (id) on delete restrict,
    created_at bigint not null,
    constraint discovery_feedback_key primary key (discovery_id, seq)
);

-- What a project is interested in; its number is the project's.
create table interest_profile (
    id bigint not null primary key constraint interest_profile_project references project (id) on delete restrict,
    -- JSON: a weight for each keyword, and for each source.
    keyword_weights text collate "C" not null,
    source_weights text collate "C" not null,
    topic_model text collate "C",
    topic_dimension bigint,
    topic_vector bytea,
    updated_at bigint not null,
    revision bigint not null,
    constraint interest_profile_topic check (
        (topic_model is null) = (topic_vector is null)
        and (topic_dimension is null) = (topic_vector is null)),
    constraint interest_profile_length check (length(topic_vector) = 4 * topic_dimension)
);

create trigger discovery_edge_insert before insert on discovery_edge for each row execute function refuse();
create trigger discovery_edge_update before update on discovery_edge for each row execute function refuse();
create trigger discovery_edge_delete before delete on discovery_edge for each row execute function refuse();
create trigger discovery_edge_truncate before truncate on discovery_edge for each statement execute function refuse();

create function discovery_insert() returns trigger language plpgsql as $$
begin
    if new.state not in ('new', 'scored') or new.revision is distinct from 1 then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

-- A settled one can still be thought about: that counts its events and changes nothing else.
create function discovery_update() returns trigger language plpgsql as $$
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
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger discovery_insert before insert on discovery for each row execute function discovery_insert();
create trigger discovery_update before update on discovery for each row execute function discovery_update();
create trigger discovery_delete before delete on discovery for each row execute function refuse();
create trigger discovery_truncate before truncate on discovery for each statement execute function refuse();

create trigger discovery_vector_update before update on discovery_vector for each row execute function refuse();
create trigger discovery_vector_delete before delete on discovery_vector for each row execute function refuse();
create trigger discovery_vector_truncate before truncate on discovery_vector for each statement execute function refuse();

-- Off the log: the words of discoveries, as our own tokens, titles with weight A.
create table discovery_text (
    discovery_id bigint not null primary key constraint discovery_text_discovery references discovery (id) on delete restrict,
    tokens tsvector not null
);

create index discovery_text_tokens on discovery_text using gin (tokens);
