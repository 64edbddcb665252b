-- What unfinished work takes in a project's store, replaced snapshots included until they are pruned. No reference to the
-- session: what a deleted one left stays in the store for thirty days.
create table session_snapshots (
  project_id uuid not null references projects on delete cascade,
  session_id uuid not null,
  commit_sha text not null,
  bytes bigint not null check (bytes >= 0),
  kept_at timestamptz(3) not null default now(),
  primary key (project_id, session_id, commit_sha)
);

-- Why the newest work of a running session is not kept. While it is set, an idle session is not stopped.
alter table project_sessions add column unkept_work text;

-- Null: written by a server that does not count yet.
alter table session_messages add column bytes integer;
