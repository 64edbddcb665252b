-- Since when the idle agent runtime of a sandbox sleeps; null while it is awake.
alter table session_sandboxes add column asleep_since timestamptz(3);
