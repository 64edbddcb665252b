-- A prompt that was taken back before the agent got it.
alter type prompt_status add value 'cancelled';

-- `settled_at`: when a prompt was delivered, refused or taken back. Rows of older servers have `delivered_at` alone.
alter table session_prompts add column error_code text, add column settled_at timestamptz(3);
create index idx_session_prompts_newest on session_prompts (session_id, created_at desc, prompt_id desc);

-- How the newest turn failed, until one succeeds; and how the first one ended, which is the one a trigger asked for.
alter table project_sessions
  add column last_turn_error jsonb,
  add column first_turn_ended_at timestamptz(3),
  add column first_turn_error jsonb;
update project_sessions set first_turn_ended_at = initial_prompt_delivered_at
  where initial_prompt_delivered_at is not null and not is_busy;
