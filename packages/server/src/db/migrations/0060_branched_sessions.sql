-- The session that this one was branched from, with the last message that it knows of that conversation, and the commit at
-- which its branch begins. Null: the session began by itself, at its base branch.
alter table project_sessions
  add column continues_session_id uuid references project_sessions on delete set null,
  add column continues_message_id text,
  add column start_sha text;
create index idx_project_sessions_continues on project_sessions (continues_session_id) where continues_session_id is not null;

-- What the work tree of a session had when a turn was over: a snapshot, or the pushed commit when nothing was unfinished.
-- No reference to the session: the snapshots of a deleted one are let go of like all others, when they are old.
create table turn_snapshots (
  project_id uuid not null references projects on delete cascade,
  session_id uuid not null,
  message_id text not null,
  commit_sha text not null,
  base_sha text not null,
  saved_at timestamptz(3) not null,
  primary key (session_id, message_id)
);
create index idx_turn_snapshots_project on turn_snapshots (project_id, saved_at);
