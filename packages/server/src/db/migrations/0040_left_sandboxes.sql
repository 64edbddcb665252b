-- What the next server needs to go on with the sandbox of an app, of a check, or of no session yet. `in_force`: the setting
-- it was made with; apps and checks have it once they have their files. null: not yet, or made by a version that records
-- none, so it is made again. `log_read`: how far the output is stored.
alter table app_deploys add column in_force jsonb, add column log_read jsonb;
alter table check_runs add column in_force jsonb, add column log_read jsonb;
alter table warm_sandboxes add column in_force jsonb;
