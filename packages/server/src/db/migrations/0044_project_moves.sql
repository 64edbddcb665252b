-- Moves of projects between servers. `closing`: the home finishes what runs, and new writes wait. `frozen`: nothing is
-- acknowledged, by this home or another, until the move is done or undone.
create type project_home_state as enum ('open', 'closing', 'frozen');
alter table projects add column home_state project_home_state not null default 'open';

-- A server that is drained keeps no new projects, and those that it has move away.
alter table servers add column draining_since timestamptz(3);

create type project_move_phase as enum ('copying', 'copied', 'frozen', 'done', 'failed');
create type project_move_cause as enum ('request', 'balance', 'drain');
create table project_moves (
  move_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  from_server text not null,
  to_server text not null,
  -- The epoch of the home that it leaves: a move that another one overtook changes nothing.
  home_epoch integer not null,
  phase project_move_phase not null default 'copying',
  cause project_move_cause not null,
  -- Ends turns that are running instead of waiting for them.
  is_forced boolean not null default false,
  requested_by uuid,
  requested_at timestamptz(3) not null default now(),
  phase_at timestamptz(3) not null default now(),
  -- When one of the two servers last got further.
  progress_at timestamptz(3) not null default now(),
  passes integer not null default 0,
  attempts integer not null default 0,
  -- Why it does not go on at the moment.
  waits_for text,
  error text,
  -- Sessions whose sandboxes ended for the move: the saved work goes back into their next ones.
  sessions uuid[] not null default '{}',
  ended_at timestamptz(3),
  -- When the source removed its copy.
  removed_at timestamptz(3)
);
create unique index idx_project_moves_active on project_moves (project_id) where ended_at is null;
create index idx_project_moves_project on project_moves (project_id, requested_at desc);
create index idx_project_moves_left on project_moves (from_server) where phase = 'done' and removed_at is null;

create trigger wake_jobs_by_insert after insert on project_moves
  for each row execute function wake_jobs_of_project();
create trigger wake_jobs_by_update after update of phase on project_moves
  for each row when (old.phase <> new.phase) execute function wake_jobs_of_project();

-- Every server hears at once where a project has its home, and whether writes to it wait.
create function tell_homes() returns trigger language plpgsql as $$
begin
  perform pg_notify('svc_homes', new.project_id::text);
  return null;
end
$$;
create trigger tell_homes after update of home, home_epoch, home_state on projects
  for each row when ((old.home, old.home_epoch, old.home_state) is distinct from (new.home, new.home_epoch, new.home_state))
  execute function tell_homes();
