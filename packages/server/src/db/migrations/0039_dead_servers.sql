-- The id of the data folder of a server. null: of a version that records none.
alter table server_instances add column data_folder uuid;
-- When another server first saw that the lock of this one is free. The server clears it when it takes the lock again.
alter table server_instances add column lock_lost_at timestamptz(3);
