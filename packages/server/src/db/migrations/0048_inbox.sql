-- What a list says about an open change request beyond whether it merges: computed with the check of the same commits.
create table change_request_facts (
  cr_id uuid primary key references change_requests on delete cascade,
  -- Base and head, by which a reader knows that they are current.
  pair text not null,
  is_up_to_date boolean not null,
  -- The first paths that conflict, and how many there are.
  conflicts text[] not null,
  conflict_count integer not null,
  -- Null: the comparison took too long.
  additions integer,
  deletions integer,
  -- The first changed paths, and how many there are.
  paths text[] not null,
  path_count integer not null,
  -- Whether it was compared with the open change requests that change the same files.
  is_compared boolean not null default false
);

-- Two open change requests that merge, and of which the second conflicts once the first has landed.
create table change_request_collisions (
  cr_id uuid not null references change_requests on delete cascade,
  other_id uuid not null references change_requests on delete cascade,
  -- Base, head, and the head of the other one.
  commits text not null,
  -- The first paths. Empty: they do not collide.
  files text[] not null,
  primary key (cr_id, other_id)
);
create index idx_change_request_collisions_other on change_request_collisions (other_id);

-- Change requests that a reader was shown without facts: the server of their project computes them.
create table wanted_change_request_facts (
  cr_id uuid primary key references change_requests on delete cascade,
  project_id uuid not null references projects on delete cascade,
  wanted_at timestamptz(3) not null default now(),
  -- When the last attempt failed, as where a branch is gone or a git host does not answer.
  tried_at timestamptz(3)
);
create index idx_wanted_change_request_facts_project on wanted_change_request_facts (project_id);
create trigger wake_jobs after insert or update of wanted_at on wanted_change_request_facts
  for each row execute function wake_jobs();

-- What a person put away in their inbox. It comes back when its version changes, when something new fails, or at the time.
create table inbox_marks (
  user_id uuid not null references users on delete cascade,
  item_key text not null,
  version text not null,
  -- What had failed already.
  failure text,
  -- Null: done.
  snoozed_until timestamptz(3),
  marked_at timestamptz(3) not null default now(),
  primary key (user_id, item_key)
);

-- For the inbox, which reads the open rows of many projects.
create index idx_project_sessions_of_inbox on project_sessions (project_id) where status <> 'stopped' and status <> 'completed';
create index idx_change_request_reviews_by on change_request_reviews (created_by, cr_id, created_at desc);
