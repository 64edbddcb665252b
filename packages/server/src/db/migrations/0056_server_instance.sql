-- The process that has the name of the server. A connection of another one that had it is refused. null: of an earlier
-- version, which does not check.
alter table servers add column instance_id uuid;
