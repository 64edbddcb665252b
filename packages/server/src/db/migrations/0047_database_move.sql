-- Where the data of this installation are, if they move to another database or came from one. Not copied with them.
create table database_move (
  singleton boolean primary key default true check (singleton),
  -- The same in both databases.
  move_id uuid not null,
  -- `arriving`: a copy is being made here. `copied`: it is complete, and the other database is not marked yet.
  -- `arrived`: the data are here. `left`: they are in the other database now, and this one is kept as it was.
  state text not null check (state in ('arriving', 'copied', 'arrived', 'left')),
  -- The other database, without a password.
  other text not null,
  changed_at timestamptz(3) not null default now()
);
