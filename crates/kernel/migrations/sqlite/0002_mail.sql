-- Mail: messages, whom they are for, threads, attachments, contacts, and the index of their words.

-- Who may write to an agent.
alter table agent add column contact_policy text not null default 'open'
    constraint agent_contact_policy check (contact_policy in ('open', 'contacts', 'closed'));

create table message (
    id integer not null primary key,
    project_id integer not null constraint message_project references project (id) on delete restrict,
    thread_id integer not null,
    reply_to integer constraint message_reply_to references message (id) on delete restrict,
    -- Null: the operator.
    sender_id integer constraint message_sender references agent (id) on delete restrict,
    subject text not null,
    body text not null,
    importance text not null constraint message_importance check (importance in ('low', 'normal', 'high', 'urgent')),
    ack_required integer not null constraint message_ack_required check (ack_required in (0, 1)),
    topic text,
    created_at integer not null,
    revision integer not null
) strict;

create index message_by_thread on message (thread_id, id);
create index message_by_sender on message (sender_id, id);
create index message_acks on message (project_id, id) where ack_required = 1;

-- One row per message and recipient: it is delivered once (C3). Agent 0 is the operator.
create table recipient (
    message_id integer not null constraint recipient_message references message (id) on delete restrict,
    agent_id integer not null constraint recipient_agent check (agent_id >= 0),
    delivery text not null constraint recipient_delivery check (delivery in ('to', 'cc', 'bcc')),
    ack_required integer not null constraint recipient_ack_required check (ack_required in (0, 1)),
    read_at integer,
    acked_at integer,
    note text,
    constraint recipient_key primary key (message_id, agent_id)
) strict, without rowid;

create index recipient_inbox on recipient (agent_id, message_id);
create index recipient_unread on recipient (agent_id, message_id) where read_at is null;
create index recipient_ack_pending on recipient (agent_id, message_id) where ack_required = 1 and acked_at is null;

-- Who has something in a thread, and the newest of it; agent 0 is the operator, who sees all.
create table thread_member (
    agent_id integer not null,
    thread_id integer not null constraint thread_member_thread references message (id) on delete restrict,
    last_message_id integer not null,
    constraint thread_member_key primary key (agent_id, thread_id)
) strict, without rowid;

create index thread_member_newest on thread_member (agent_id, last_message_id);

create table message_attachment (
    message_id integer not null constraint message_attachment_message references message (id) on delete restrict,
    position integer not null,
    sha256 blob not null constraint message_attachment_sha256 check (length(sha256) = 32),
    name text not null,
    bytes integer not null,
    constraint message_attachment_key primary key (message_id, position)
) strict, without rowid;

create index message_attachment_by_hash on message_attachment (sha256);

-- Who asked whether it may write to whom.
create table contact (
    id integer not null primary key,
    agent_id integer not null constraint contact_agent references agent (id) on delete restrict,
    sender_id integer not null constraint contact_sender references agent (id) on delete restrict,
    state text not null constraint contact_state check (state in ('requested', 'approved', 'refused')),
    reason text not null,
    created_at integer not null,
    -- On the wall clock, for people, and on the lease clock, which decides.
    until_at integer,
    until_lease_us integer,
    revision integer not null,
    constraint contact_pair unique (agent_id, sender_id)
) strict;

create index contact_by_sender on contact (sender_id, id);

-- Off the log: bytes by their hash. What names a hash is in the log.
create table blob (
    sha256 blob not null primary key constraint blob_sha256 check (length(sha256) = 32),
    bytes blob not null,
    added_at integer not null
) strict, without rowid;

-- Off the log: who put bytes in, and so may attach them.
create table blob_owner (
    owner text not null,
    sha256 blob not null constraint blob_owner_blob references blob (sha256) on delete restrict,
    bytes integer not null,
    constraint blob_owner_key primary key (owner, sha256)
) strict, without rowid;

-- Off the log: the words of messages, as our own tokens; the text itself is in `message`.
create virtual table message_text using fts5 (
    subject, body, content = '', tokenize = 'ascii'
);

-- The same index, word by word, for whoever examines it.
create virtual table message_word using fts5vocab (message_text, instance);
