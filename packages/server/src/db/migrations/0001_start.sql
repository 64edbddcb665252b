-- Times keep milliseconds, as the API shows them, so that a cursor made of what a client saw sorts as the row does.

create table installation (
  singleton boolean primary key default true check (singleton),
  installation_id uuid not null,
  master_key_id text not null,
  created_at timestamptz(3) not null default now()
);

create table server_instances (
  instance_id uuid primary key,
  started_at timestamptz(3) not null default now(),
  heartbeat_at timestamptz(3) not null default now()
);

create type account_plan as enum ('free', 'pro', 'team', 'selfhost');
create type member_role as enum ('owner', 'admin', 'member', 'viewer');

create table accounts (
  account_id uuid primary key,
  name text not null,
  plan account_plan not null,
  created_at timestamptz(3) not null default now()
);

create table users (
  user_id uuid primary key,
  name text not null,
  email text unique,
  created_at timestamptz(3) not null default now()
);

create table account_members (
  account_id uuid not null references accounts on delete cascade,
  user_id uuid not null references users on delete cascade,
  role member_role not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, user_id)
);
create index idx_account_members_user on account_members (user_id);

create table projects (
  project_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  slug text not null,
  name text not null,
  repo_url text not null,
  default_branch text not null,
  managed boolean not null,
  config_dir text not null default '.svc/runtime',
  settings jsonb not null default '{}',
  next_cr_number integer not null default 1,
  -- This project's own key, wrapped by the master key; every sealed value of the project is under it.
  data_key bytea not null,
  git_username text,
  git_token bytea,
  secrets_revision integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (account_id, slug)
);

create type session_status as enum ('queued', 'branching', 'provisioning', 'running', 'stopped', 'failed', 'completed');
create type sandbox_status as enum ('provisioning', 'active', 'stopped', 'error', 'archived');
create type desired_state as enum ('running', 'stopped');

create table project_sessions (
  session_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null references projects on delete cascade,
  name text not null,
  branch_name text not null,
  base_ref text not null,
  agent_name text not null,
  model text,
  status session_status not null,
  -- What the session is meant to be; the reconciler moves status towards it.
  desired desired_state not null default 'running',
  generation integer not null default 1,
  error text,
  initial_prompt text,
  initial_prompt_delivered_at timestamptz(3),
  created_by uuid references users on delete set null,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  last_active_at timestamptz(3) not null default now()
);
create index idx_project_sessions_account_status on project_sessions (account_id, status);
create index idx_project_sessions_project on project_sessions (project_id, created_at desc, session_id desc);
create index idx_project_sessions_unsettled on project_sessions (status, desired) where status in ('provisioning', 'running');

create table session_sandboxes (
  sandbox_id uuid primary key,
  session_id uuid not null references project_sessions on delete cascade,
  driver text not null,
  external_id text,
  status sandbox_status not null,
  generation integer not null,
  endpoint text,
  -- The server that keeps it; when that server is gone, so is a sandbox of the local driver.
  instance_id uuid not null,
  error text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  last_active_at timestamptz(3) not null default now(),
  unique (session_id, generation)
);
create index idx_session_sandboxes_status on session_sandboxes (status, instance_id);

create table session_phases (
  session_id uuid not null references project_sessions on delete cascade,
  generation integer not null,
  position integer not null,
  name text not null,
  started_at timestamptz(3) not null,
  ms double precision,
  error text,
  primary key (session_id, generation, position)
);

create type prompt_status as enum ('accepted', 'delivered', 'failed');

create table session_prompts (
  prompt_id uuid primary key,
  session_id uuid not null references project_sessions on delete cascade,
  text text not null,
  status prompt_status not null default 'accepted',
  error text,
  created_by uuid references users on delete set null,
  created_at timestamptz(3) not null default now(),
  delivered_at timestamptz(3)
);
create index idx_session_prompts_accepted on session_prompts (session_id, created_at) where status = 'accepted';

create table session_messages (
  session_id uuid not null references project_sessions on delete cascade,
  message_id text not null,
  generation integer not null,
  role text not null check (role in ('user', 'assistant')),
  created_at timestamptz(3) not null,
  completed_at timestamptz(3),
  error text,
  parts jsonb not null default '[]',
  primary key (session_id, message_id)
);
create index idx_session_messages_order on session_messages (session_id, created_at, message_id);

-- A token with a project is a project token; one with a session too is bound to it. Deleting the session deletes its
-- tokens: set null would turn a bound token into an unbound one.
create table tokens (
  token_id uuid primary key,
  sha256 bytea not null unique,
  name text not null,
  user_id uuid not null references users on delete cascade,
  project_id uuid references projects on delete cascade,
  session_id uuid references project_sessions on delete cascade,
  generation integer,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  check (session_id is null or project_id is not null)
);
create index idx_tokens_user on tokens (user_id) where project_id is null;
create index idx_tokens_project on tokens (project_id);
create index idx_tokens_session on tokens (session_id);

-- What a sandbox generation holds beside its token: its service key, its git credentials, its model key.
create type sandbox_credential_kind as enum ('service', 'clone', 'model');

create table sandbox_credentials (
  credential_id uuid primary key,
  kind sandbox_credential_kind not null,
  sha256 bytea not null unique,
  project_id uuid not null references projects on delete cascade,
  session_id uuid not null references project_sessions on delete cascade,
  sandbox_id uuid not null references session_sandboxes on delete cascade,
  generation integer not null,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index idx_sandbox_credentials_session on sandbox_credentials (session_id);

create table owner_links (
  sha256 bytea primary key,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);

create table dashboard_sessions (
  sha256 bytea primary key,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);

create table secrets (
  project_id uuid not null references projects on delete cascade,
  name text not null,
  version integer not null,
  sealed bytea not null,
  value_bytes integer not null,
  created_by uuid references users on delete set null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (project_id, name)
);

create type change_request_status as enum ('open', 'merged', 'closed');

create table change_requests (
  cr_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null references projects on delete cascade,
  number integer not null,
  title text not null,
  description text not null default '',
  base_ref text not null,
  head_ref text not null,
  status change_request_status not null default 'open',
  head_commit_sha text,
  base_commit_sha text,
  origin_session_id uuid references project_sessions on delete set null,
  created_by uuid references users on delete set null,
  merged_at timestamptz(3),
  merged_by uuid references users on delete set null,
  merge_commit_sha text,
  closed_at timestamptz(3),
  closed_by uuid references users on delete set null,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index idx_change_requests_account on change_requests (account_id);
create index idx_change_requests_project on change_requests (project_id);
create index idx_change_requests_project_status on change_requests (project_id, status);
create unique index idx_change_requests_project_number on change_requests (project_id, number);
create index idx_change_requests_origin_session on change_requests (origin_session_id);

create type merge_attempt_state as enum ('intended', 'landed', 'abandoned');
create type merge_kind as enum ('fast-forward', 'merge-commit', 'up-to-date');

-- What a merge is about to do, written before the branch moves: whatever dies, the branch's tip tells what became of it.
create table merge_attempts (
  attempt_id uuid primary key,
  cr_id uuid not null references change_requests on delete cascade,
  project_id uuid not null references projects on delete cascade,
  base_ref text not null,
  base_sha text not null,
  head_sha text not null,
  result_sha text not null,
  kind merge_kind not null,
  message text not null,
  commit_date timestamptz(3) not null,
  merged_by uuid references users on delete set null,
  -- Who asked, as the audit row will tell it, also when another server has to settle this.
  caller jsonb not null,
  idempotency_key text,
  state merge_attempt_state not null default 'intended',
  reason text,
  created_at timestamptz(3) not null default now(),
  settled_at timestamptz(3)
);
create index idx_merge_attempts_cr on merge_attempts (cr_id);
create unique index idx_merge_attempts_intended on merge_attempts (project_id, base_ref) where state = 'intended';

create table idempotency_keys (
  scope text not null,
  key text not null,
  request_sha256 bytea not null,
  -- The id a creating request will give its resource, so that a retry after a crash finds what the first try made.
  resource_id uuid not null,
  instance_id uuid not null,
  status integer,
  body jsonb,
  created_at timestamptz(3) not null default now(),
  primary key (scope, key)
);
create index idx_idempotency_keys_created on idempotency_keys (created_at);

create table audit_events (
  event_id bigint generated always as identity primary key,
  at timestamptz(3) not null default now(),
  account_id uuid,
  project_id uuid,
  actor_kind text not null,
  actor_user_id uuid,
  token_id uuid,
  session_id uuid,
  request_id text,
  address text,
  action text not null,
  object_type text not null,
  object_id text not null,
  before jsonb,
  after jsonb
);
create index idx_audit_events_account on audit_events (account_id, event_id desc);
create index idx_audit_events_project on audit_events (project_id, event_id desc);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_events is append-only';
end $$;
create trigger audit_events_append_only before update or delete on audit_events
  for each row execute function refuse_audit_change();
