-- When a message was kept last: whoever reads a conversation again asks for what changed since.
alter table session_messages add column updated_at timestamptz(3) not null default now();
create index idx_session_messages_updated on session_messages (session_id, updated_at);
