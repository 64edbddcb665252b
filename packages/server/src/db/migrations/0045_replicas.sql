-- Whether copies of repositories may be put on this server, and when an operator declared it gone for good.
alter table servers add column keeps_replicas boolean not null default false, add column taken_over_at timestamptz(3);

-- The server that keeps a copy of the project's repository, filled by the home of this epoch. It has the objects of all
-- changes up to `acknowledged_seq`; its refs are those of `applied_seq`.
create table project_replicas (
  project_id uuid primary key references projects on delete cascade,
  server text not null,
  epoch integer not null,
  acknowledged_seq bigint not null,
  applied_seq bigint not null,
  filled_at timestamptz(3) not null default now()
);
create index idx_project_replicas_server on project_replicas (server);

-- Every acknowledged change of a ref that only the home has: those of managed repositories, and the hidden refs of all.
-- null: the ref did not exist, or does not any more.
create table ref_changes (
  project_id uuid not null references projects on delete cascade,
  seq bigint not null,
  ref text not null,
  old_sha text,
  new_sha text,
  epoch integer not null,
  at timestamptz(3) not null default now(),
  primary key (project_id, seq)
);
create index idx_ref_changes_at on ref_changes (at);

-- The last number given. Deleting old changes must not give one twice.
create table ref_counters (
  project_id uuid primary key references projects on delete cascade,
  seq bigint not null
);
