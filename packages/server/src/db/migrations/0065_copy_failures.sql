-- Why a home failed to make or update the copy of a project, until it succeeds.
create table copy_failures (
  project_id uuid primary key references projects on delete cascade,
  epoch integer not null,
  error text not null
);
