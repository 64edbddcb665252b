-- What data keys and derived keys hang on, wrapped by each master key that is accepted: two while the master key is changed, else one.
create table root_keys (
  root_key_id text not null,
  master_key_id text not null,
  wrapped bytea not null,
  -- Which master key came later; clocks of several machines would not tell.
  position bigint generated always as identity,
  created_at timestamptz(3) not null default now(),
  primary key (root_key_id, master_key_id)
);
-- The root key that wraps the project's data key. Null: the master key does, as before there was a root key.
alter table projects add column data_key_wrapped_by text;
create index idx_projects_data_key_by_master on projects (project_id) where data_key_wrapped_by is null;
-- Servers from before there was a root key leave it out.
alter table server_instances add column knows_root_key boolean not null default false;
