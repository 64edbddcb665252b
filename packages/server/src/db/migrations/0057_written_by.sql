-- The version of svc that applied the migration, so that an earlier program can name the one that the data need.
alter table schema_migrations add column svc_version text;
