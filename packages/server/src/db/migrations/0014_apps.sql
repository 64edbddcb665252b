-- Apps of svc.toml on the default branch, what was deployed of each, and what it said. A deploy is a row before it is
-- a sandbox, and whoever takes it up writes itself down, so any server can finish or end what a dead one began.
create type app_desired as enum ('running', 'stopped');

create table apps (
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  position integer not null,
  -- The entry of the manifest, whole.
  definition jsonb not null,
  enabled boolean not null,
  -- The first label of its host name, which is one name space for all projects of a server.
  host text not null unique,
  -- What its members want; a stop stays until somebody deploys.
  desired app_desired not null default 'running',
  -- Of what the default branch says it should be, and the commit that said so first. A deploy follows each change.
  hash text,
  commit_sha text,
  live_deploy_id uuid,
  next_number integer not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (project_id, slug)
);

-- Which state of the default branch and of the secrets the rows of `apps` were made from.
create table app_reconciliations (
  project_id uuid primary key references projects on delete cascade,
  sha text,
  branch text not null,
  secrets_revision integer not null,
  provider text not null
);

create type app_deploy_status as enum ('queued', 'building', 'starting', 'running', 'restarting', 'replaced', 'stopped', 'failed', 'cancelled');
create type app_deploy_cause as enum ('default_branch', 'request', 'rollback');

create table app_deploys (
  deploy_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  number integer not null,
  status app_deploy_status not null default 'queued',
  hash text not null,
  commit_sha text not null,
  definition jsonb not null,
  cause app_deploy_cause not null,
  rollback_of integer,
  error text,
  created_by uuid references users on delete set null,
  -- The server that has it in hand; its sandbox lives and dies with it.
  instance_id uuid,
  sandbox_id text,
  -- Sandboxes it took since it last ran for long, and when the next may be made.
  attempts integer not null default 0,
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  ready_at timestamptz(3),
  ended_at timestamptz(3),
  foreign key (project_id, slug) references apps on delete cascade,
  unique (project_id, slug, number)
);
create index idx_app_deploys_open on app_deploys (status) where status in ('queued', 'building', 'starting', 'running', 'restarting');

create table app_log_chunks (
  chunk_id bigint generated always as identity primary key,
  deploy_id uuid not null references app_deploys on delete cascade,
  -- A list of {at, stream, text}.
  lines jsonb not null,
  bytes integer not null
);
create index idx_app_log_chunks_deploy on app_log_chunks (deploy_id, chunk_id desc);

-- Who may see an app in which browser: a ticket for its first visit, a cookie after that. Only hashes.
create table app_grants (
  sha256 bytea primary key,
  is_ticket boolean not null,
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz(3) not null,
  foreign key (project_id, slug) references apps on delete cascade
);
create index idx_app_grants_expires on app_grants (expires_at);
