-- Epochs that began after a lost end: the number is that of the event, and above everything before.

create table epoch (
    id bigint not null primary key,
    name text collate "C" not null,
    name_before text collate "C" not null,
    after_seq bigint not null constraint epoch_after check (after_seq < id),
    lost_name text collate "C" not null,
    lost_seq bigint not null constraint epoch_lost check (lost_seq < id),
    began_at bigint not null,
    revision bigint not null
);

-- The first event of an epoch leaves out the numbers that were used in what was lost.
drop trigger event_insert on event;
drop function event_insert();

create function event_insert() returns trigger language plpgsql as $$
declare
    last bigint := greatest((select coalesce(max(seq), 0) from event), (select seq from log_head));
begin
    if new.seq is distinct from 1 + last and (new.kind <> 'epoch_begun' or new.seq <= last) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return new;
end $$;

create trigger event_insert before insert on event for each row execute function event_insert();
