-- Whether the agent is at work: known to the server that keeps the sandbox, and needed by the sweep of every other one.
alter table project_sessions add column is_busy boolean not null default false;
create index idx_session_sandboxes_ended on session_sandboxes (updated_at) where status in ('stopped', 'error');
