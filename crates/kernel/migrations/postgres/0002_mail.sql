-- Mail: messages, whom they are for, threads, attachments, contacts, and the index of their words.

-- Who may write to an agent.
alter table agent add column contact_policy text collate "C" not null default 'open'
    constraint agent_contact_policy check (contact_policy in ('open', 'contacts', 'closed'));

create table message (
    id bigint not null primary key,
    project_id bigint not null constraint message_project references project (id) on delete restrict,
    thread_id bigint not null,
    reply_to bigint constraint message_reply_to references message (id) on delete restrict,
    -- Null: the operator.
    sender_id bigint constraint message_sender references agent (id) on delete restrict,
    subject text collate "C" not null,
    body text collate "C" not null,
    importance text collate "C" not null constraint message_importance check (importance in ('low', 'normal', 'high', 'urgent')),
    ack_required bigint not null constraint message_ack_required check (ack_required in (0, 1)),
    topic text collate "C",
    created_at bigint not null,
    revision bigint not null
);

create index message_by_thread on message (thread_id, id);
create index message_by_sender on message (sender_id, id);
create index message_acks on message (project_id, id) where ack_required = 1;

-- One row per message and recipient: it is delivered once (C3). Agent 0 is the operator.
create table recipient (
    message_id bigint not null constraint recipient_message references message (id) on delete restrict,
    agent_id bigint not null constraint recipient_agent check (agent_id >= 0),
    delivery text collate "C" not null constraint recipient_delivery check (delivery in ('to', 'cc', 'bcc')),
    ack_required bigint not null constraint recipient_ack_required check (ack_required in (0, 1)),
    read_at bigint,
    acked_at bigint,
    note text collate "C",
    constraint recipient_key primary key (message_id, agent_id)
);

create index recipient_inbox on recipient (agent_id, message_id);
create index recipient_unread on recipient (agent_id, message_id) where read_at is null;
create index recipient_ack_pending on recipient (agent_id, message_id) where ack_required = 1 and acked_at is null;

-- Who has something in a thread, and the newest of it; agent 0 is the operator, who sees all.
create table thread_member (
    agent_id bigint not null,
    thread_id bigint not null constraint thread_member_thread references message (id) on delete restrict,
    last_message_id bigint not null,
    constraint thread_member_key primary key (agent_id, thread_id)
);

create index thread_member_newest on thread_member (agent_id, last_message_id);

create table message_attachment (
    message_id bigint not null constraint message_attachment_message references message (id) on delete restrict,
    position bigint not null,
    sha256 bytea not null constraint message_attachment_sha256 check (length(sha256) = 32),
    name text collate "C" not null,
    bytes bigint not null,
    constraint message_attachment_key primary key (message_id, position)
);

create index message_attachment_by_hash on message_attachment (sha256);

-- Who asked whether it may write to whom.
create table contact (
    id bigint not null primary key,
    agent_id bigint not null constraint contact_agent references agent (id) on delete restrict,
    sender_id bigint not null constraint contact_sender references agent (id) on delete restrict,
    state text collate "C" not null constraint contact_state check (state in ('requested', 'approved', 'refused')),
    reason text collate "C" not null,
    created_at bigint not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    until_at bigint,
    until_lease_us bigint,
    revision bigint not null,
    constraint contact_pair unique (agent_id, sender_id)
);

create index contact_by_sender on contact (sender_id, id);

-- Off the log: bytes by their hash. What names a hash is in the log.
create table blob (
    sha256 bytea not null primary key constraint blob_sha256 check (length(sha256) = 32),
    bytes bytea not null,
    added_at bigint not null
);

-- Off the log: who put bytes in, and so may attach them.
create table blob_owner (
    owner text collate "C" not null,
    sha256 bytea not null constraint blob_owner_blob references blob (sha256) on delete restrict,
    bytes bigint not null,
    constraint blob_owner_key primary key (owner, sha256)
);

-- Off the log: the words of messages, as our own tokens, subjects with weight A.
create table message_text (
    message_id bigint not null primary key constraint message_text_message references message (id) on delete restrict,
    tokens tsvector not null
);

create index message_text_tokens on message_text using gin (tokens);
