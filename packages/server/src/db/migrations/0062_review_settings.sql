create type file_order as enum ('folders', 'guided');

-- What a person chose for reading changes, in all change requests.
create table review_settings (
  user_id uuid primary key references users on delete cascade,
  file_order file_order not null
);
