-- The member who went on with a session after its creator lost write access, and in whose name its sandboxes act since.
-- Expand: a server of the version before starts such a session in the name of its creator, and the repository refuses it.
alter table project_sessions add column acts_for uuid references users on delete set null;
