-- The servers that have used this database, with the data folder of each. A folder has one name, and a name one folder.
create table servers (
  server_name text primary key,
  data_folder uuid not null unique,
  -- How other servers reach it. null: it runs alone.
  peer_url text,
  started_at timestamptz(3) not null default now()
);

alter table server_instances add column server_name text, add column peer_url text;

-- The server that keeps the repository, sessions and apps of the project. `home_epoch` grows with each move, so that a
-- server that was the home before acknowledges nothing. null: of a version without homes; a server takes it at its start.
alter table projects add column home text, add column home_epoch integer not null default 1;
create index idx_projects_home on projects (home);
