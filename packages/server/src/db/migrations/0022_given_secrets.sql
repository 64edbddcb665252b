-- Which values the sandboxes of a session were given, in any of their generations: what the session says is searched for
-- all of them, also after a server restart and after a value was replaced or deleted. A value is kept as its secret had it,
-- sealed under the project's key, once however many sessions were given it.
create table kept_secrets (
  project_id uuid not null references projects on delete cascade,
  -- Sealing draws a nonce, so this names one setting of one secret.
  sealed_sha256 bytea not null,
  name text not null,
  version integer not null,
  sealed bytea not null,
  -- Renewed whenever a session is given it.
  kept_at timestamptz(3) not null default now(),
  primary key (project_id, sealed_sha256)
);

-- A sandbox that is kept warm has its values before its session has a row, so no foreign key holds session_id.
create table given_secrets (
  session_id uuid not null,
  project_id uuid not null,
  sealed_sha256 bytea not null,
  given_at timestamptz(3) not null default now(),
  primary key (session_id, sealed_sha256),
  foreign key (project_id, sealed_sha256) references kept_secrets on delete cascade
);
create index idx_given_secrets_kept on given_secrets (project_id, sealed_sha256);
