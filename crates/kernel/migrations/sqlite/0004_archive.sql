-- Off the log: where each archive stands, how its commits were cut, and what could not be written.

create table archive (
    id text not null primary key,
    through integer not null constraint archive_through check (through >= 0),
    moved_at integer not null
) strict, without rowid;

-- A repository that is made anew is cut as the old one was, so that it comes out the same.
create table archive_commit (
    archive_id text not null constraint archive_commit_archive references archive (id) on delete restrict,
    last_seq integer not null,
    first_seq integer not null constraint archive_commit_span check (first_seq between 1 and last_seq),
    constraint archive_commit_key primary key (archive_id, last_seq)
) strict, without rowid;

create table quarantine (
    archive_id text not null constraint quarantine_archive references archive (id) on delete restrict,
    seq integer not null,
    path text not null,
    reason text not null,
    added_at integer not null,
    constraint quarantine_key primary key (archive_id, seq, path)
) strict, without rowid;
