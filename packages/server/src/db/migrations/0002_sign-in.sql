create table user_passwords (
  user_id uuid primary key references users on delete cascade,
  hash text not null,
  changed_at timestamptz(3) not null
);

create type dashboard_session_start as enum ('link', 'password');

alter table dashboard_sessions
  add column dashboard_session_id uuid not null default gen_random_uuid() unique,
  add column began_by dashboard_session_start not null default 'link',
  add column address text,
  add column user_agent text,
  add column last_used_at timestamptz(3);
create index idx_dashboard_sessions_user on dashboard_sessions (user_id);

-- What a click on the page gave to a terminal that waits: single use, for a minute, and of no use without the verifier.
create table cli_logins (
  sha256 bytea primary key,
  challenge text not null,
  name text not null,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index idx_cli_logins_expires on cli_logins (expires_at);

-- Tries of a password within the last minutes, so that every server of a database counts the same ones.
create table sign_in_attempts (
  attempt_id uuid primary key,
  email_sha256 bytea not null,
  address text not null,
  at timestamptz(3) not null
);
create index idx_sign_in_attempts_email on sign_in_attempts (email_sha256, at);
create index idx_sign_in_attempts_address on sign_in_attempts (address, at);
