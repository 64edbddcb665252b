-- The start of the session whose sandbox applied the work. Until that start has saved, this is the only copy outside of the sandbox.
alter table session_wip add column recovered_into integer;
