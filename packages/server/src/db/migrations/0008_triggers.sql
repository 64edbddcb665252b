-- What the default branch of each project was seen to be. Jobs compare it with what they did last, so that a merge, a
-- push from outside and a missed moment are the same to them.
create table default_branches (
  project_id uuid primary key references projects on delete cascade,
  branch text not null,
  -- Null: the branch has no commit yet.
  sha text,
  manifest jsonb not null,
  issues jsonb not null,
  moved_at timestamptz(3) not null,
  -- When the tip that is written here began to be read: an older look never overwrites a newer one.
  checked_at timestamptz(3) not null
);
create index idx_default_branches_checked on default_branches (checked_at);

create type trigger_type as enum ('cron', 'webhook');

create table triggers (
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  position integer not null,
  type trigger_type not null,
  -- The entry of the manifest, whole.
  definition jsonb not null,
  enabled boolean not null,
  -- Since when this schedule is in force: no slot before it is due.
  appeared_at timestamptz(3) not null,
  next_due_at timestamptz(3),
  last_fired_at timestamptz(3),
  -- Who merged it; sessions run as this user while they may write, else as the account's first owner.
  run_as uuid references users on delete set null,
  primary key (project_id, slug)
);
create index idx_triggers_due on triggers (next_due_at) where next_due_at is not null;

-- Which state of the default branch the rows of `triggers` were made from.
create table trigger_reconciliations (
  project_id uuid primary key references projects on delete cascade,
  sha text,
  branch text not null
);

create type trigger_slot_kind as enum ('cron', 'webhook', 'manual');
create type trigger_slot_status as enum ('claimed', 'fired', 'skipped');

create table trigger_slots (
  slot_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  slug text not null,
  kind trigger_slot_kind not null,
  -- One per due time, per delivery, per request: this is what lets several servers never fire twice.
  slot_key text not null,
  due_at timestamptz(3) not null,
  status trigger_slot_status not null,
  reason text,
  caught_up boolean not null default false,
  -- The id its session gets, allotted before the session is made, so that a second try makes the same one.
  planned_session_id uuid not null,
  session_id uuid references project_sessions on delete set null,
  fired_at timestamptz(3),
  -- What is still needed to fire it; gone once it has fired or never will.
  plan jsonb,
  instance_id uuid not null,
  claimed_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now(),
  unique (project_id, slug, kind, slot_key)
);
create index idx_trigger_slots_newest on trigger_slots (project_id, slug, created_at desc, slot_id);
create index idx_trigger_slots_claimed on trigger_slots (claimed_at) where status = 'claimed';
create index idx_trigger_slots_session on trigger_slots (session_id);
create index idx_trigger_slots_created on trigger_slots (created_at);
