-- What was looked for from the first row on is found by an index.

-- Discoveries that may lose of their value: those that never did by age, the others by when they did.
create index discovery_by_decay on discovery (project_id, decayed_lease_us, discovered_lease_us, id)
where state in ('new', 'scored') and score > 0;

-- Only the oldest event goes. That is the one without one before it: only where an epoch began are
-- numbers left out. Asking for the lowest number at each event reads past all that went before and are
-- still seen by somebody's snapshot.
create or replace function event_delete() returns trigger language plpgsql as $$
begin
    if exists (select 1 from event where seq = old.seq - 1)
        or (old.kind = 'epoch_begun' and old.seq is distinct from (select min(seq) from event))
        or old.seq > (select pruned_to from log_head) then
        raise exception using errcode = 'restrict_violation', message = tg_name;
    end if;
    return old;
end $$;
