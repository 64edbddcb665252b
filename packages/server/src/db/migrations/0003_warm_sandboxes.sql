-- Sandboxes that wait for a session. Ids and values are allotted when one is made; rows that give them any right are
-- written when a session claims it, which is why only hashes are here. `read_sha256` is the one credential that works
-- before: it reads the project's repository, for minutes.
create type warm_status as enum ('filling', 'ready');

create table warm_sandboxes (
  sandbox_id uuid primary key,
  session_id uuid not null unique,
  project_id uuid not null references projects on delete cascade,
  -- The server that keeps it; when that server is gone, so is the sandbox.
  instance_id uuid not null,
  driver text not null,
  external_id text,
  endpoint text,
  status warm_status not null default 'filling',
  -- Of everything it was made from that a session could find changed.
  fingerprint text not null,
  commit_sha text,
  service_sha256 bytea not null,
  token_sha256 bytea not null,
  model_sha256 bytea not null unique,
  read_sha256 bytea unique,
  read_expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index idx_warm_sandboxes_project on warm_sandboxes (project_id, instance_id, status);

-- The id a create's Idempotency-Key stands for, where the session has the id its warm sandbox brought along.
alter table project_sessions add column asked_as uuid unique;
