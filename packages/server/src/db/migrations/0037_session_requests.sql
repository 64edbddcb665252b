-- The request that made a session whose id the caller chose: sent again, it is compared with this.
alter table project_sessions add column request_sha256 bytea;

-- A file belongs to a prompt of its own session. Until now a session could have the id of a prompt of another one.
delete from session_attachments using session_prompts
  where session_prompts.prompt_id = session_attachments.prompt_id
    and session_prompts.session_id <> session_attachments.session_id;
alter table session_prompts add unique (session_id, prompt_id);
alter table session_attachments
  drop constraint session_attachments_prompt_id_fkey,
  add foreign key (session_id, prompt_id) references session_prompts (session_id, prompt_id) on delete cascade;
