-- The public half of a key the server made; null where a project brought its own, or none.
alter table projects add column ssh_public_key text;
