create type change_request_tree_kind as enum ('tree', 'conflicted', 'up-to-date', 'unavailable');

-- What merging an open change request would make of the files, of which pair of commits: its checks run on that tree.
create table change_request_trees (
  cr_id uuid primary key references change_requests on delete cascade,
  project_id uuid not null references projects on delete cascade,
  base_sha text not null,
  head_sha text not null,
  kind change_request_tree_kind not null,
  -- Null unless kind is 'tree'.
  tree_sha text,
  -- Why there is none.
  reason text,
  looked_at timestamptz(3) not null default now()
);
create index idx_change_request_trees_tree on change_request_trees (project_id, tree_sha);

create type check_run_status as enum ('queued', 'running', 'passed', 'failed', 'error', 'cancelled');

-- A command on a tree. Several change requests whose merge gives the same files share it, and so does one whose base moved
-- without changing them.
create table check_runs (
  run_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null references projects on delete cascade,
  tree_sha text not null,
  -- Of name and command.
  definition_hash text not null,
  name text not null,
  command text not null,
  status check_run_status not null default 'queued',
  attempt integer not null default 1,
  exit_code integer,
  reason text,
  -- The server that has it in hand; its sandbox lives and dies with it.
  instance_id uuid,
  sandbox_id text,
  -- Sandboxes it took since somebody wanted it.
  starts integer not null default 0,
  -- Its log is longer than what is kept of it.
  log_cut boolean not null default false,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  ended_at timestamptz(3),
  unique (project_id, tree_sha, definition_hash)
);
create index idx_check_runs_open on check_runs (created_at) where status in ('queued', 'running');
create index idx_check_runs_ended on check_runs (ended_at) where ended_at is not null;

create table check_log_chunks (
  chunk_id bigint generated always as identity primary key,
  run_id uuid not null references check_runs on delete cascade,
  -- A list of {at, stream, text}.
  lines jsonb not null,
  bytes integer not null
);
create index idx_check_log_chunks_run on check_log_chunks (run_id, chunk_id desc);
