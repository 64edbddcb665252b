-- Background jobs sleep until a row they work on changes. Triggers name the table, so that every path wakes the jobs: the
-- API, a job, another server, and an older version of the program. A lost notification makes a job late: each also runs at
-- a long interval.
create function wake_jobs() returns trigger language plpgsql as $$
begin
  perform pg_notify('svc_jobs', tg_table_name);
  return null;
end
$$;

-- With the project, so that a job reads only what changed.
create function wake_jobs_of_project() returns trigger language plpgsql as $$
begin
  perform pg_notify('svc_jobs', tg_table_name || ' ' || new.project_id);
  return null;
end
$$;

-- When a repository on a git host is polled next. Null: the service stores the repository, so what moves it asks for a poll
-- by wanted_at.
alter table project_looks add column next_poll_at timestamptz(3);
create index idx_project_looks_next on project_looks (next_poll_at) where next_poll_at is not null;
insert into project_looks (project_id, looked_at, wanted_at, next_poll_at)
  select project_id, 'epoch', 'epoch', case when managed then null else now() end from projects
  on conflict (project_id) do update set next_poll_at = excluded.next_poll_at;

-- For the sweep of managed repositories, which reads a few projects and open change requests at a time.
create index idx_projects_managed on projects (project_id) where managed and deleted_at is null;
create index idx_change_requests_open on change_requests (cr_id) where status = 'open';

create function request_first_poll() returns trigger language plpgsql as $$
begin
  insert into project_looks as look (project_id, looked_at, wanted_at, next_poll_at)
    values (new.project_id, 'epoch', clock_timestamp(), case when new.managed then null else now() + interval '20 seconds' end)
    on conflict (project_id) do update set wanted_at = excluded.wanted_at, next_poll_at = excluded.next_poll_at;
  return null;
end
$$;

create trigger request_first_poll after insert on projects
  for each row execute function request_first_poll();
create trigger request_poll_after_change after update of default_branch, repo_url, deleted_at on projects
  for each row when (old.default_branch <> new.default_branch or old.repo_url <> new.repo_url
    or (old.deleted_at is not null and new.deleted_at is null))
  execute function request_first_poll();

create function request_poll() returns trigger language plpgsql as $$
begin
  update project_looks set wanted_at = clock_timestamp()
    where project_id = new.project_id and wanted_at <= looked_at;
  return null;
end
$$;

-- A new pair of commits needs a check, and a merge moved the default branch.
create trigger request_poll_of_new after insert on change_requests
  for each row execute function request_poll();
create trigger request_poll_of_changed
  after update of status, base_ref, head_ref, base_commit_sha, head_commit_sha on change_requests
  for each row when ((old.status, old.base_ref, old.head_ref, old.base_commit_sha, old.head_commit_sha)
    is distinct from (new.status, new.base_ref, new.head_ref, new.base_commit_sha, new.head_commit_sha))
  execute function request_poll();

create trigger wake_jobs after insert or update of wanted_at on project_looks
  for each row when (new.wanted_at > new.looked_at) execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on projects
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of secrets_revision, deleted_at, purge_at on projects
  for each row when ((old.secrets_revision, old.deleted_at, old.purge_at)
    is distinct from (new.secrets_revision, new.deleted_at, new.purge_at))
  execute function wake_jobs_of_project();

create trigger wake_jobs_by_insert after insert on default_branches
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of sha, branch on default_branches
  for each row when ((old.sha, old.branch) is distinct from (new.sha, new.branch))
  execute function wake_jobs_of_project();

create trigger wake_jobs_by_insert after insert on change_requests
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update
  after update of status, title, base_ref, head_ref, base_commit_sha, head_commit_sha on change_requests
  for each row when ((old.status, old.title, old.base_ref, old.head_ref, old.base_commit_sha, old.head_commit_sha)
    is distinct from (new.status, new.title, new.base_ref, new.head_ref, new.base_commit_sha, new.head_commit_sha))
  execute function wake_jobs_of_project();

create trigger wake_jobs_by_insert after insert on project_sessions
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of status, desired, generation, is_busy, error on project_sessions
  for each row when ((old.status, old.desired, old.generation, old.is_busy, old.error)
    is distinct from (new.status, new.desired, new.generation, new.is_busy, new.error))
  execute function wake_jobs_of_project();

create trigger wake_jobs after insert or update of status on session_prompts
  for each row when (new.status = 'accepted') execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on session_questions
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of status, answer, expires_at on session_questions
  for each row when ((old.status, old.answer, old.expires_at) is distinct from (new.status, new.answer, new.expires_at))
  execute function wake_jobs();

create trigger wake_jobs after update of recovered_at on session_wip
  for each row when (old.recovered_at is distinct from new.recovered_at) execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on triggers
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of next_due_at, enabled on triggers
  for each row when ((old.next_due_at, old.enabled) is distinct from (new.next_due_at, new.enabled))
  execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on webhooks
  for each row execute function wake_jobs();
-- Not by a lease or a moved cursor: the sender writes those itself.
create trigger wake_jobs_by_update after update of next_attempt_at, updated_at on webhooks
  for each row when ((old.next_attempt_at, old.updated_at) is distinct from (new.next_attempt_at, new.updated_at))
  execute function wake_jobs();
create trigger wake_jobs after insert or update of by_hand, status on webhook_deliveries
  for each row when (new.by_hand and new.status = 'waiting') execute function wake_jobs();

create trigger wake_jobs after insert or update of status, next_try_at on channel_events
  for each row when (new.status = 'waiting') execute function wake_jobs();
create trigger wake_jobs after insert or update of wanted, next_try_at, given_up_at on channel_messages
  for each row when (new.wanted > new.sent and new.given_up_at is null) execute function wake_jobs();
create trigger wake_jobs_by_insert after insert on channels
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of paused_until, looked_at on channels
  for each row when (old.paused_until is distinct from new.paused_until or (old.looked_at is not null and new.looked_at is null))
  execute function wake_jobs_of_project();
create trigger wake_jobs after insert or update of session_id on channel_threads
  for each row when (new.session_id is not null) execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on apps
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of desired, enabled on apps
  for each row when ((old.desired, old.enabled) is distinct from (new.desired, new.enabled))
  execute function wake_jobs();
create trigger wake_jobs_by_insert after insert on app_deploys
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of status, next_attempt_at on app_deploys
  for each row when ((old.status, old.next_attempt_at) is distinct from (new.status, new.next_attempt_at))
  execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on check_runs
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of status on check_runs
  for each row when (old.status <> new.status) execute function wake_jobs();

create trigger wake_jobs_by_insert after insert on connectors
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of check_due_at on connectors
  for each row when (old.check_due_at is distinct from new.check_due_at and new.check_due_at is not null)
  execute function wake_jobs_of_project();

create trigger wake_jobs_by_change after insert or delete on warm_sandboxes
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of status on warm_sandboxes
  for each row when (old.status <> new.status) execute function wake_jobs();

create trigger wake_jobs after insert or delete on server_instances
  for each row execute function wake_jobs();
