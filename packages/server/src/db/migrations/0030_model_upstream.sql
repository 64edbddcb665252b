create type model_shape as enum ('openai', 'anthropic');

-- The model upstream that an owner set from the dashboard: one for all servers of this database.
create table model_upstream (
  singleton boolean primary key default true check (singleton),
  revision uuid not null,
  url text not null,
  shape model_shape not null,
  -- The first one is the default.
  models text[] not null check (cardinality(models) > 0),
  -- Both null where the upstream needs no key.
  data_key bytea,
  sealed_key bytea,
  updated_by uuid references users on delete set null,
  updated_at timestamptz(3) not null,
  check ((data_key is null) = (sealed_key is null))
);
create index idx_model_upstream_updated_by on model_upstream (updated_by);
