-- An invitation belongs to one account: the same address may hold one of each account, and accepting one touches no other.
create table invitations (
  -- Also the id of the user whom it makes, when the person signs up with its link.
  invitation_id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  email text not null,
  name text not null,
  role member_role not null,
  -- Of the code in its link. Null until a browser asks for the link: an API token gets none.
  sha256 bytea unique,
  -- Whether a sign-in provider's word for the address is enough. False where a token that expires invited: what it made
  -- must not outlast it until a person makes the link.
  admits_address boolean not null,
  invited_by uuid references users on delete set null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3)
);
create unique index idx_invitations_pending on invitations (account_id, email)
  where accepted_at is null and revoked_at is null;
create index idx_invitations_email on invitations (email) where accepted_at is null and revoked_at is null;

-- The address that the provider verified at the last sign-in.
alter table user_identities add column email text;
