-- What happened in each project, in an order that no reader can see a gap in. An event is inserted in the transaction of
-- the change it tells of, without a number. Its number is given when that transaction commits: the row of the counter is
-- locked then and until the commit is visible, so whoever sees a number sees all before it. That this happens last is
-- why it cannot deadlock with whatever else the transaction locked, and why writers wait for each other only so long.
create table project_event_counters (
  project_id uuid primary key references projects on delete cascade,
  last bigint not null,
  -- Events up to and with this one were deleted by age.
  forgotten bigint not null default 0
);

create table project_events (
  event_id bigint generated always as identity primary key,
  project_id uuid not null references projects on delete cascade,
  -- Null only inside of the transaction that wrote it.
  number bigint,
  type text not null,
  -- No references: who did it stays written down when they are gone.
  actor_user_id uuid,
  actor_session_id uuid,
  data jsonb not null,
  created_at timestamptz(3) not null default now()
);
create unique index idx_project_events_number on project_events (project_id, number);
create index idx_project_events_created on project_events (created_at);

create function number_project_event() returns trigger language plpgsql as $$
declare
  next bigint;
begin
  insert into project_event_counters as counter (project_id, last) values (new.project_id, 1)
    on conflict (project_id) do update set last = counter.last + 1
    returning last into next;
  update project_events set number = next, created_at = clock_timestamp() where event_id = new.event_id;
  perform pg_notify('svc_project_events', new.project_id::text);
  return null;
end
$$;

create constraint trigger number_project_event after insert on project_events
  deferrable initially deferred for each row execute function number_project_event();
