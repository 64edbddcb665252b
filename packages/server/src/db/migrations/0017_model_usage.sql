-- What models were asked and answered, by session, day and model. It outlives the session and the project it was for.
create table model_usage (
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null,
  session_id uuid not null,
  day date not null,
  model text not null,
  calls bigint not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  primary key (session_id, day, model)
);
create index idx_model_usage_account on model_usage (account_id, day);
create index idx_model_usage_project on model_usage (project_id, day);

-- What calls that are under way may still use: a cap counts it, so that calls side by side cannot pass it together.
create table model_reservations (
  reservation_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null,
  session_id uuid not null,
  -- The server that makes the call; when it is gone, what was reserved counts as used.
  instance_id uuid not null,
  model text not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  created_at timestamptz(3) not null default now()
);
create index idx_model_reservations_account on model_reservations (account_id);

alter table accounts add column model_tokens_per_month bigint;
-- Why a session was stopped, where nobody asked for it.
alter table project_sessions add column stop_reason text;

-- Sandboxes of sessions that were deleted, for what an account used.
create table deleted_sandboxes (
  sandbox_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  project_id uuid not null,
  session_id uuid not null,
  began_at timestamptz(3) not null,
  ended_at timestamptz(3) not null
);
create index idx_deleted_sandboxes_account on deleted_sandboxes (account_id, ended_at);

create function keep_sandbox_times() returns trigger language plpgsql as $$
begin
  insert into deleted_sandboxes (sandbox_id, account_id, project_id, session_id, began_at, ended_at)
    select sandbox_id, old.account_id, old.project_id, old.session_id, created_at,
      case when status in ('provisioning', 'active') then now() else updated_at end
    from session_sandboxes where session_id = old.session_id
    -- An account that goes takes its usage with it.
    and exists (select from accounts where accounts.account_id = old.account_id)
  on conflict do nothing;
  return old;
end $$;
create trigger project_sessions_keep_sandbox_times before delete on project_sessions
  for each row execute function keep_sandbox_times();
