-- Addresses that are sent a project's events, one after the other.
create table webhooks (
  webhook_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  url text not null,
  events jsonb not null,
  secret bytea not null,
  -- Events up to this one were sent, were not asked for, or were given up.
  cursor bigint not null,
  -- Of the event after the cursor.
  attempts integer not null default 0,
  failing_since timestamptz(3),
  next_attempt_at timestamptz(3),
  last_error text,
  paused_reason text,
  -- One server at a time sends for a webhook; one that is gone leaves it to another once its lease is over.
  lease_by uuid,
  lease_until timestamptz(3) not null default now(),
  created_by uuid references users on delete set null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index idx_webhooks_project on webhooks (project_id, created_at);

create type webhook_delivery_status as enum ('waiting', 'delivered', 'failed');

create table webhook_deliveries (
  delivery_id uuid primary key,
  webhook_id uuid not null references webhooks on delete cascade,
  -- Null for a ping.
  event_number bigint,
  event_type text not null,
  status webhook_delivery_status not null default 'waiting',
  -- Somebody asked for it: it is tried once, and out of turn.
  by_hand boolean not null default false,
  attempts integer not null default 0,
  http_status integer,
  error text,
  answer text,
  ms integer,
  created_at timestamptz(3) not null default now(),
  last_attempt_at timestamptz(3)
);
create unique index idx_webhook_deliveries_event on webhook_deliveries (webhook_id, event_number);
create index idx_webhook_deliveries_newest on webhook_deliveries (webhook_id, created_at desc, delivery_id desc);
create index idx_webhook_deliveries_by_hand on webhook_deliveries (webhook_id) where by_hand and status = 'waiting';
create index idx_webhook_deliveries_created on webhook_deliveries (created_at);
