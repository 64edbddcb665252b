-- When a project's repository was looked at last for its open change requests, and since when somebody wants a look.
create table project_looks (
  project_id uuid primary key references projects on delete cascade,
  looked_at timestamptz(3) not null,
  wanted_at timestamptz(3) not null
);
create index idx_project_looks_wanted on project_looks (wanted_at) where wanted_at > looked_at;

-- Whether an open change request could be merged, of which pair of commits, as events told it last.
create table change_request_checks (
  cr_id uuid primary key references change_requests on delete cascade,
  base_sha text not null,
  head_sha text not null,
  can_merge boolean not null,
  checked_at timestamptz(3) not null default now()
);

-- The address a git host calls when something was pushed.
create table host_webhooks (
  project_id uuid primary key references projects on delete cascade,
  secret bytea not null,
  created_at timestamptz(3) not null default now(),
  last_call_at timestamptz(3),
  last_sender text
);
