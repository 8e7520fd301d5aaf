-- Off the log: where each archive stands, how its commits were cut, and what could not be written.

create table archive (
    id text collate "C" not null primary key,
    through bigint not null constraint archive_through check (through >= 0),
    moved_at bigint not null
);

-- A repository that is made anew is cut as the old one was, so that it comes out the same.
create table archive_commit (
    archive_id text collate "C" not null constraint archive_commit_archive references archive (id) on delete restrict,
    last_seq bigint not null,
    first_seq bigint not null constraint archive_commit_span check (first_seq between 1 and last_seq),
    constraint archive_commit_key primary key (archive_id, last_seq)
);

create table quarantine (
    archive_id text collate "C" not null constraint quarantine_archive references archive (id) on delete restrict,
    seq bigint not null,
    path text collate "C" not null,
    reason text collate "C" not null,
    added_at bigint not null,
    constraint quarantine_key primary key (archive_id, seq, path)
);
