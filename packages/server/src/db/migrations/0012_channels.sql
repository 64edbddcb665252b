create type chat_platform as enum ('slack');

-- A channel of a chat workspace that belongs to a project, and the app that speaks there.
create table channels (
  channel_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  account_id uuid not null references accounts on delete cascade,
  platform chat_platform not null,
  workspace_id text not null,
  workspace_name text not null,
  bot_user_id text not null,
  bot_name text not null,
  conversation_id text not null,
  conversation_name text not null,
  shared_externally boolean not null,
  -- Bot token and signing secret, under the data key of the project.
  sealed bytea not null,
  -- Bound into what is sealed, so that an older row put back does not open.
  version integer not null,
  allow_unlinked boolean not null,
  connected_by uuid references users on delete set null,
  error text,
  -- The platform asked for quiet until then.
  paused_until timestamptz(3),
  -- Its change requests were looked at then, by whichever server came first.
  looked_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (platform, workspace_id, conversation_id, bot_user_id)
);
create index idx_channels_project on channels (project_id);
create index idx_channels_account on channels (account_id);

-- Which person of a workspace acts as which user, for one account.
create table channel_links (
  link_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  platform chat_platform not null,
  workspace_id text not null,
  workspace_name text not null,
  chat_user_id text not null,
  chat_user_name text not null,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  unique (account_id, platform, workspace_id, chat_user_id)
);
create index idx_channel_links_user on channel_links (user_id);

-- A code the app gave to one person; whoever opens it first while signed in is the only one who can use it.
create table channel_link_codes (
  sha256 bytea primary key,
  channel_id uuid not null references channels on delete cascade,
  workspace_id text not null,
  chat_user_id text not null,
  chat_user_name text not null,
  chat_user_email text,
  user_id uuid references users on delete cascade,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index idx_channel_link_codes_channel on channel_link_codes (channel_id);
create index idx_channel_link_codes_expires on channel_link_codes (expires_at);

create table channel_threads (
  thread_id uuid primary key,
  channel_id uuid not null references channels on delete cascade,
  thread_key text not null,
  session_id uuid references project_sessions on delete set null,
  started_by uuid references users on delete set null,
  chat_user_id text not null,
  chat_user_name text not null,
  -- What of the session was told last; differs when there is something to tell.
  told text,
  created_at timestamptz(3) not null default now(),
  unique (channel_id, thread_key)
);
create index idx_channel_threads_session on channel_threads (session_id);
create index idx_channel_threads_newest on channel_threads (channel_id, created_at desc, thread_id);

create type channel_event_kind as enum ('prompt', 'action', 'command');
create type channel_event_status as enum ('waiting', 'done', 'refused');

-- What came in from a platform: a row before the answer, worked off in the order of each thread.
create table channel_events (
  event_row_id bigint generated always as identity primary key,
  channel_id uuid not null references channels on delete cascade,
  -- The platform's name of the delivery, and of what it tells: it tells some things twice under two names.
  delivery_id text not null,
  subject_id text not null,
  thread_key text not null,
  kind channel_event_kind not null,
  payload jsonb not null,
  -- The id that is given to what comes of it, so that a second try makes the same.
  planned_id uuid not null,
  status channel_event_status not null default 'waiting',
  reason text,
  attempts integer not null default 0,
  next_try_at timestamptz(3),
  instance_id uuid,
  claimed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  unique (channel_id, delivery_id),
  unique (channel_id, subject_id)
);
create index idx_channel_events_waiting on channel_events (event_row_id) where status = 'waiting';
create index idx_channel_events_created on channel_events (created_at);

create type channel_message_kind as enum ('answer', 'state', 'card', 'reply');

-- The outbox, by what is wanted rather than what happened: a message whose wanted version is newer than the sent one is owed.
create table channel_messages (
  message_id uuid primary key,
  seq bigint generated always as identity,
  channel_id uuid not null references channels on delete cascade,
  message_key text not null,
  kind channel_message_kind not null,
  -- Messages of one thread appear in their order.
  thread_key text not null,
  -- Null: on the channel itself, where it begins a thread of its own.
  thread_id text,
  -- Shown to this person of the workspace alone.
  recipient text,
  body jsonb not null,
  wanted integer not null default 1,
  sent integer not null default 0,
  -- The platform's name of it, once it is there.
  external_id text,
  attempts integer not null default 0,
  error text,
  next_try_at timestamptz(3),
  given_up_at timestamptz(3),
  instance_id uuid,
  claimed_at timestamptz(3),
  sent_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (channel_id, message_key)
);
create index idx_channel_messages_owed on channel_messages (seq) where wanted > sent and given_up_at is null;
create index idx_channel_messages_thread on channel_messages (channel_id, thread_key, seq);
create index idx_channel_messages_newest on channel_messages (channel_id, updated_at desc);

-- A change request as its card in a channel shows it.
create table channel_cards (
  channel_id uuid not null references channels on delete cascade,
  cr_id uuid not null references change_requests on delete cascade,
  -- The two commits that were compared last, and what was found.
  compared text,
  facts jsonb,
  told text,
  primary key (channel_id, cr_id)
);
create index idx_channel_cards_cr on channel_cards (cr_id);
