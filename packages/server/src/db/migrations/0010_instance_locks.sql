-- When a server took the lock that it holds as long as it lives. null: of a version that takes none, and told by its heartbeat alone.
alter table server_instances add column lock_taken_at timestamptz(3);
