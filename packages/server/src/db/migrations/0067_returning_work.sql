-- A take-over ended the sandbox that had this work, so the next start puts it back into the work tree by itself.
alter table session_wip add column returns boolean not null default false;
