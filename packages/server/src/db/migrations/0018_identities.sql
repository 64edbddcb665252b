-- Who a user is at an OpenID Connect provider.
create table user_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

alter type dashboard_session_start add value 'oidc';
