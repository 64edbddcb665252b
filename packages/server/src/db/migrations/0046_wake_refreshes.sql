-- A waiting refresh wakes the job that applies it, which compared all running sessions every two seconds before.
create trigger wake_jobs_by_refresh after update of refresh on project_sessions
  for each row when (new.refresh->>'status' = 'waiting' and old.refresh is distinct from new.refresh)
  execute function wake_jobs_of_project();
