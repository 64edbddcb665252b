-- Tries to sign in, counted by what they have in common; every server of a database counts the same ones.
create table sign_in_limits (
  sha256 bytea primary key,
  tries integer not null,
  allowed_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index idx_sign_in_limits_expires on sign_in_limits (expires_at);

-- Browsers in which a user has signed in before: strangers' tries do not slow these down.
create table trusted_devices (
  sha256 bytea primary key,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index idx_trusted_devices_user on trusted_devices (user_id);
