-- When a server last ran, so that nothing is deleted for its age at once when the clock is far from that: it may be wrong,
-- or this is a copy of an earlier backup. Expand: a server of the version before deletes without a look at it.
create table deletion_clock (
  singleton boolean primary key default true check (singleton),
  seen_at timestamptz(3) not null,
  -- `seen_at` before the clock was far from it.
  jumped_from timestamptz(3),
  waits_until timestamptz(3)
);

insert into deletion_clock (seen_at)
select max(last_seen_at) from servers having max(last_seen_at) is not null;
