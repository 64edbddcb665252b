-- The generation of the sandbox to which a server began to deliver the prompt. Its agent may have the prompt, which is
-- then not cancelled alone.
alter table session_prompts add column delivery_generation integer;
