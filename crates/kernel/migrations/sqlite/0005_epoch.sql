-- Epochs that began after a lost end: the number is that of the event, and above everything before.

create table epoch (
    id integer not null primary key,
    name text not null,
    name_before text not null,
    after_seq integer not null constraint epoch_after check (after_seq < id),
    lost_name text not null,
    lost_seq integer not null constraint epoch_lost check (lost_seq < id),
    began_at integer not null,
    revision integer not null
) strict;

-- The first event of an epoch leaves out the numbers that were used in what was lost.
drop trigger event_insert;
create trigger event_insert before insert on event
when new.seq is not 1 + max((select coalesce(max(seq), 0) from event), (select seq from log_head))
    and (new.kind is not 'epoch_begun'
        or new.seq <= max((select coalesce(max(seq), 0) from event), (select seq from log_head)))
begin select raise(abort, 'event_insert'); end;
