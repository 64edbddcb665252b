-- Whether svc.toml of the head has errors. Expand: a server of the version before leaves it out.
alter table change_request_facts add column manifest_invalid boolean not null default false;

-- A list asks again for the facts of all, because a head can have the invalid file from its base.
delete from change_request_facts;
