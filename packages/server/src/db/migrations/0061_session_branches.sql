-- The branches that the server made for sessions, until it deletes them. SVC_KEEP_BRANCHES deletes no other branch.
create table session_branches (
  project_id uuid not null references projects on delete cascade,
  branch text not null,
  made_at timestamptz(3) not null default now(),
  -- When it was last looked at for deletion, whether a server deletes it now, and why the repository refused that.
  looked_at timestamptz(3),
  deleting_at timestamptz(3),
  refusal text,
  primary key (project_id, branch)
);

-- A caller who chooses the id of a session may have made its branch, and nothing is known of the branch of a session that
-- was deleted. Those stay.
insert into session_branches (project_id, branch, made_at)
  select project_id, branch_name, created_at from project_sessions where request_sha256 is null;

-- When the server deleted the branch, because it was merged. Null: it did not, or made it again.
alter table project_sessions add column branch_deleted_at timestamptz(3);

create index idx_change_requests_merged_head on change_requests (project_id, head_ref, merged_at) where status = 'merged';
