-- Set by a restore: nothing of this installation acts until `svc self-host resume`, so that a copy never acts beside its
-- original. Without a row nothing is held.
create table held (
  singleton boolean primary key default true check (singleton),
  -- The backup that was restored.
  backup_id text not null,
  backup_created_at timestamptz(3) not null,
  held_at timestamptz(3) not null default now()
);
