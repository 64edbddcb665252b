-- What each server says of itself: the settings that have to be the same on all servers, and whether its sandboxes can
-- start. null: of an earlier version, or not known yet.
alter table servers
  add column settings jsonb,
  add column sandboxes_ready boolean,
  add column sandbox_problem text;
