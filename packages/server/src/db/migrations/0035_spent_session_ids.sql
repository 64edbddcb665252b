-- A caller may choose the id of a session; one whose sandbox ran is spent. deleted_sandboxes remembers it for good.
create index idx_deleted_sandboxes_session on deleted_sandboxes (session_id);
