-- A token minted by another is revoked with it. Deleting the minter deletes what it minted: set null would cut the line
-- along which a revocation travels.
alter table tokens
  add column minted_by uuid references tokens on delete cascade,
  -- The token of a terminal's sign-in: it mints one user token that its own end does not bound.
  add column mints_once boolean not null default false;
create index idx_tokens_minted_by on tokens (minted_by);

-- When and how the person at this browser last proved who they are.
alter table dashboard_sessions
  add column confirmed_at timestamptz(3),
  add column confirmed_by dashboard_session_start;

-- What a token opened in a browser ends with the token.
alter table preview_grants add column token_id uuid references tokens on delete cascade;
alter table app_grants add column token_id uuid references tokens on delete cascade;
create index idx_preview_grants_token on preview_grants (token_id);
create index idx_app_grants_token on app_grants (token_id);

-- Up to which event a person has dismissed the notices about their credentials.
create table notices_seen (
  user_id uuid primary key references users on delete cascade,
  event_id bigint not null
);
create index idx_audit_events_credentials on audit_events (actor_user_id, event_id)
  where action in
    ('owner_link.create', 'token.create', 'cli_login.redeem', 'invitation.create', 'member.role', 'channel_link.create');
