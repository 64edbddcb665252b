-- When the conversation before was deleted, because the session had rested for as long as SVC_KEEP_TRANSCRIPTS.
alter table project_sessions add column transcript_deleted_at timestamptz(3);

-- The job of SVC_KEEP_AUDIT names in its transaction up to when it deletes. Nothing else changes a row.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < nullif(current_setting('svc.audit_deleted_before', true), '')::timestamptz then
    return old;
  end if;
  raise exception 'audit_events is append-only';
end $$;
