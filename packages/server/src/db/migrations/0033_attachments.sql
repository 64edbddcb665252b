-- Files that were sent with a prompt. They stay with their session.
create table session_attachments (
  attachment_id uuid primary key,
  session_id uuid not null references project_sessions on delete cascade,
  prompt_id uuid not null references session_prompts on delete cascade,
  position integer not null,
  name text not null,
  -- By the first bytes, never by the name.
  content_type text not null,
  bytes integer not null,
  content bytea not null,
  created_at timestamptz(3) not null default now(),
  unique (prompt_id, position)
);
create index idx_session_attachments_session on session_attachments (session_id);
-- Most files are compressed already.
alter table session_attachments alter column content set storage external;
