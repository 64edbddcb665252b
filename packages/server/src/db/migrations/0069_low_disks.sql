-- Whether the disk of a server is almost full. Expand: a server of the version before leaves it null, which counts as
-- a disk with room.
alter table server_instances add column disk_low boolean;
