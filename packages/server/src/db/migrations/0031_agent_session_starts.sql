-- How many sessions the agents below one first session started within an hour. Apart from project_sessions: an agent can
-- delete the sessions it started, and the first session can be deleted while its descendants go on.
create table agent_session_starts (
  root_session_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  began_at timestamptz(3) not null default now(),
  started integer not null check (started > 0)
);
create index idx_agent_session_starts_project on agent_session_starts (project_id, began_at);
