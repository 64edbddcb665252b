-- When the saved work of a session was lost: a take-over accepted a copy that lacks it.
-- Expand: a server of the version before leaves it null, and its check goes on to report that work.
alter table session_wip add column lost_at timestamptz(3);
