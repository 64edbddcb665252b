-- The newest refresh of a session's sandbox: what it changed and what only a restart takes over.
alter table project_sessions
  add column refresh jsonb,
  -- The id that the sandbox of this generation gets, so that its address is known before it is made.
  add column next_sandbox_id uuid not null default gen_random_uuid();

-- What a sandbox was made from, and what of it was taken over since.
alter table session_sandboxes add column in_force jsonb;

alter table session_phases add column note text check (octet_length(note) <= 16384);

create unique index project_sessions_next_sandbox on project_sessions (next_sandbox_id);
