-- When a change request that lands on the git host is checked next. Null: it is not open, so nothing is checked.
alter table host_landings add column next_check_at timestamptz(3) default date_trunc('milliseconds', now());
update host_landings l set next_check_at = null
  where not exists (select from change_requests c where c.cr_id = l.cr_id and c.status = 'open');
create index idx_host_landings_next on host_landings (next_check_at) where next_check_at is not null;

create function schedule_landing_check() returns trigger language plpgsql as $$
begin
  update host_landings set next_check_at = case when new.status = 'open' then date_trunc('milliseconds', now()) end
    where cr_id = new.cr_id;
  return null;
end
$$;

create trigger schedule_landing_check after update of status on change_requests
  for each row when (old.status <> new.status) execute function schedule_landing_check();

create trigger wake_jobs_by_insert after insert on host_landings
  for each row execute function wake_jobs();
create trigger wake_jobs_by_update after update of next_check_at on host_landings
  for each row when (old.next_check_at is null and new.next_check_at is not null) execute function wake_jobs();
