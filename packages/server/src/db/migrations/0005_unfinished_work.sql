-- What a sandbox held that was not pushed. The commit lies in the project's store under refs/svc/wip.
create table session_wip (
  session_id uuid not null references project_sessions on delete cascade,
  generation integer not null,
  commit_sha text not null,
  base_sha text,
  files integer not null,
  unpushed_commits integer not null,
  paths jsonb not null default '[]',
  notes jsonb not null default '[]',
  saved_at timestamptz(3) not null default now(),
  recovered_at timestamptz(3),
  primary key (session_id, generation)
);

-- Who may see a port of a session: a ticket in an address works once and becomes a cookie.
create table preview_grants (
  sha256 bytea primary key,
  is_ticket boolean not null,
  session_id uuid not null references project_sessions on delete cascade,
  port integer not null,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index idx_preview_grants_session on preview_grants (session_id);
create index idx_preview_grants_expires on preview_grants (expires_at);
