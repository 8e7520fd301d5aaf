-- Discoveries and what the project is interested in.

-- Which steps a discovery may take (J9). Scoring one again leaves it scored.
create table discovery_edge (
    from_state text not null,
    to_state text not null,
    constraint discovery_edge_key primary key (from_state, to_state)
) strict;

insert into discovery_edge (from_state, to_state) values
    ('new', 'scored'), ('new', 'promoted'), ('new', 'dismissed'),
    ('scored', 'promoted'), ('scored', 'dismissed');

-- Something worth knowing that somebody found. Its tier is computed by the database from the score,
-- so that nothing can write another one (J4).
create table discovery (
    id integer not null primary key,
    project_id integer not null constraint discovery_project references project (id) on delete restrict,
    source text not null,
    -- What the source calls it.
    source_id text not null,
    title text not null,
    summary text not null,
    url text,
    score real constraint discovery_score check (score >= 0 and score <= 1),
    tier text generated always as (case
        when score is null then null
        when score >= 0.8 then 'high'
        when score >= 0.5 then 'medium'
        when score >= 0.3 then 'low'
        else 'discard' end) stored,
    state text not null constraint discovery_state check (state in ('new', 'scored', 'promoted', 'dismissed')),
    -- The work item or run it became.
    ref text,
    -- Why it was dismissed.
    reason text not null,
    -- Null: the operator.
    agent_id integer constraint discovery_agent references agent (id) on delete restrict,
    discovered_at integer not null,
    discovered_lease_us integer not null,
    -- When its score last lost of its value by age.
    decayed_lease_us integer,
    settled_at integer,
    revision integer not null,
    constraint discovery_key unique (project_id, source, source_id),
    constraint discovery_scored check (
        (state <> 'new' or score is null) and (state <> 'scored' or score is not null)),
    constraint discovery_ref check ((ref is not null) = (state = 'promoted')),
    constraint discovery_end check ((settled_at is null) = (state in ('new', 'scored')))
) strict;

create index discovery_by_project on discovery (project_id, id);
create index discovery_by_score on discovery (project_id, score, id);
-- What may lose of its value, and what a source may be rolled back over.
create index discovery_open on discovery (project_id, id) where state in ('new', 'scored');
create index discovery_by_time on discovery (project_id, source, discovered_at) where state in ('new', 'scored');

-- What a discovery says as a vector: little-endian f32, one per model. Models are never mixed (J11).
create table discovery_vector (
    discovery_id integer not null constraint discovery_vector_discovery references discovery (id) on delete restrict,
    -- The discovery's.
    project_id integer not null,
    model text not null,
    dimension integer not null constraint discovery_vector_dimension check (dimension > 0),
    vector blob not null,
    -- The event that brought it. Memory takes vectors in by it, so none is ever changed.
    seq integer not null constraint discovery_vector_seq unique,
    constraint discovery_vector_key primary key (discovery_id, model),
    constraint discovery_vector_length check (length(vector) = 4 * dimension)
) strict;

create index discovery_vector_by_model on discovery_vector (project_id, model, discovery_id);

-- What people and agents thought of a discovery, by the number of the event.
create table discovery_feedback (
    discovery_id integer not null constraint discovery_feedback_discovery references discovery (id) on delete restrict,
    seq integer not null,
    signal text not null constraint discovery_feedback_signal check (signal in ('useful', 'not_useful', 'known', 'wrong')),
    note text not null,
    -- Null: the operator.
    agent_id integer constraint discovery_feedback_agent references agent (id) on delete restrict,
    created_at integer not null,
    constraint discovery_feedback_key primary key (discovery_id, seq)
) strict;

-- What a project is interested in; its number is the project's.
create table interest_profile (
    id integer not null primary key constraint interest_profile_project references project (id) on delete restrict,
    -- JSON: a weight for each keyword, and for each source.
    keyword_weights text not null,
    source_weights text not null,
    topic_model text,
    topic_dimension integer,
    topic_vector blob,
    updated_at integer not null,
    revision integer not null,
    constraint interest_profile_topic check (
        (topic_model is null) = (topic_vector is null)
        and (topic_dimension is null) = (topic_vector is null)),
    constraint interest_profile_length check (length(topic_vector) = 4 * topic_dimension)
) strict;

create trigger discovery_edge_insert before insert on discovery_edge
begin select raise(abort, 'discovery_edge_insert'); end;
create trigger discovery_edge_update before update on discovery_edge
begin select raise(abort, 'discovery_edge_update'); end;
create trigger discovery_edge_delete before delete on discovery_edge
begin select raise(abort, 'discovery_edge_delete'); end;

-- Both keys are looked at: REPLACE would take away the row that has either.
create trigger discovery_insert before insert on discovery
when new.state not in ('new', 'scored') or new.revision is not 1
    or exists (select 1 from discovery where id = new.id)
    or exists (select 1 from discovery where project_id = new.project_id
        and source = new.source and source_id = new.source_id)
begin select raise(abort, 'discovery_insert'); end;

-- A settled one can still be thought about: that counts its events and changes nothing else.
create trigger discovery_update before update on discovery
when new.id is not old.id or new.revision is not old.revision + 1
    or new.project_id is not old.project_id or new.source is not old.source
    or new.source_id is not old.source_id or new.agent_id is not old.agent_id
    or new.discovered_at is not old.discovered_at
    or new.discovered_lease_us is not old.discovered_lease_us
    or (old.score is not null and new.score is null)
    or (new.state is not old.state and not exists (
        select 1 from discovery_edge where from_state = old.state and to_state = new.state))
    or (old.state in ('promoted', 'dismissed') and (new.score is not old.score
        or new.ref is not old.ref or new.settled_at is not old.settled_at
        or new.decayed_lease_us is not old.decayed_lease_us))
begin select raise(abort, 'discovery_update'); end;

create trigger discovery_delete before delete on discovery
begin select raise(abort, 'discovery_delete'); end;

-- Both keys are looked at here, too.
create trigger discovery_vector_insert before insert on discovery_vector
when exists (select 1 from discovery_vector where seq = new.seq)
    or exists (select 1 from discovery_vector where discovery_id = new.discovery_id
        and model = new.model)
begin select raise(abort, 'discovery_vector_insert'); end;
create trigger discovery_vector_update before update on discovery_vector
begin select raise(abort, 'discovery_vector_update'); end;
create trigger discovery_vector_delete before delete on discovery_vector
begin select raise(abort, 'discovery_vector_delete'); end;

-- Off the log: the words of discoveries, as our own tokens; titles stand where subjects do.
create virtual table discovery_text using fts5 (
    subject, body, content = '', tokenize = 'ascii'
);

-- The same index, word by word, for whoever examines it.
create virtual table discovery_word using fts5vocab (discovery_text, instance);
