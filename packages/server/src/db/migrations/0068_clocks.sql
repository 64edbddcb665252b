-- By how many seconds the clock of a server is ahead of the database's. Expand: a server of the version before leaves it
-- null, which counts as a clock that is right.
alter table server_instances add column clock_ahead_seconds integer;
