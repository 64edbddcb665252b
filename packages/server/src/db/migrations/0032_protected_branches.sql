-- Branches of external repositories that their git host does not let the service push to, with the host's words.
create type protection_source as enum ('api', 'push');
create table protected_branches (
  project_id uuid not null references projects on delete cascade,
  branch text not null,
  reason text not null check (octet_length(reason) <= 16384),
  found_by protection_source not null,
  found_at timestamptz(3) not null,
  primary key (project_id, branch)
);

-- Change requests whose base is protected on the git host, so that they land there: by a pull request, if number is set.
create table host_landings (
  cr_id uuid primary key references change_requests on delete cascade,
  project_id uuid not null references projects on delete cascade,
  number integer,
  url text check (octet_length(url) <= 8192),
  created_by uuid references users on delete set null,
  -- The caller that asked for it: the merge on the host is recorded in their name.
  caller jsonb not null,
  created_at timestamptz(3) not null,
  checked_at timestamptz(3) not null default now()
);
create index host_landings_project on host_landings (project_id);
