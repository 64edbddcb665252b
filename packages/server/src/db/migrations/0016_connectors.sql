-- What is known of each connector of a default branch: its entry, and the tools it had when it was asked last.
create type connector_status as enum ('unchecked', 'ready', 'failed');

create table connectors (
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  position integer not null,
  -- The entry of the manifest, whole.
  definition jsonb not null,
  status connector_status not null,
  error text,
  hint text,
  tools jsonb not null,
  checked_at timestamptz(3),
  -- When it is asked for its tools; null while nobody needs to know.
  check_due_at timestamptz(3),
  -- Failures in a row, for the pause before the next try.
  failures integer not null default 0,
  -- The secrets it was asked with: other ones are a reason to ask again.
  secrets_revision integer not null,
  primary key (project_id, slug)
);
create index idx_connectors_due on connectors (check_due_at) where check_due_at is not null;

-- Which state of the default branch the rows of `connectors` were made from.
create table connector_reconciliations (
  project_id uuid primary key references projects on delete cascade,
  sha text,
  branch text not null
);

create type connector_policy as enum ('allow', 'ask', 'block');

-- What people decided. Kept apart from the connectors, and only in force for the address it was decided for: what a
-- change request makes of a slug later is asked about anew.
create table connector_policies (
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  -- Empty: all tools of the connector.
  tool text not null,
  url text not null,
  policy connector_policy not null,
  decided_by uuid references users on delete set null,
  decided_at timestamptz(3) not null default now(),
  primary key (project_id, slug, tool)
);

create type connector_approval_status as enum ('pending', 'approved', 'denied', 'used');

create table connector_approvals (
  approval_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  session_id uuid references project_sessions on delete cascade,
  slug text not null,
  tool text not null,
  url text not null,
  arguments jsonb not null,
  -- Of the arguments as they came: what was approved is what is sent.
  arguments_sha256 bytea not null,
  status connector_approval_status not null default 'pending',
  requested_by uuid references users on delete set null,
  decided_by uuid references users on delete set null,
  decided_at timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index idx_connector_approvals_project on connector_approvals (project_id, created_at desc);
create index idx_connector_approvals_session on connector_approvals (session_id);
create index idx_connector_approvals_created on connector_approvals (created_at);
-- A call that waits is asked about once, whatever number of times the agent asks.
create unique index idx_connector_approvals_open on connector_approvals
  (project_id, coalesce(session_id, '00000000-0000-0000-0000-000000000000'), slug, tool, arguments_sha256)
  where status = 'pending';
