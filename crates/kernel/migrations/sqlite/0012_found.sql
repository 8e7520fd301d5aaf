-- What was looked for from the first row on is found by an index.

-- Discoveries that may lose of their value: those that never did by age, the others by when they did.
create index discovery_by_decay on discovery (project_id, decayed_lease_us, discovered_lease_us, id)
where state in ('new', 'scored') and score > 0;
