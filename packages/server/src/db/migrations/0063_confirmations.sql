-- How many effects of the merge a person has to confirm. Expand: a server of the version before leaves it out.
alter table change_request_facts add column confirm_count integer not null default 0;

-- A list asks again for the facts of those that change svc.toml.
delete from change_request_facts where 'svc.toml' = any (paths);
