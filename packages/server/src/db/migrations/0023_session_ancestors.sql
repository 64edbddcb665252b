-- Which session started which: an agent controls its own session and those it started, and no other.
alter table project_sessions
  add column parent_session_id uuid references project_sessions on delete set null,
  -- The whole line, root first. It stays when an ancestor is deleted, so depth and root are never lost with a row.
  add column ancestors uuid[] not null default '{}';
create index idx_project_sessions_parent on project_sessions (parent_session_id) where parent_session_id is not null;
create index idx_project_sessions_root on project_sessions ((ancestors[1])) where ancestors[1] is not null;
