-- The agent and the model that a prompt runs with; rows of older servers have no agent, and run with those of the sandbox.
alter table session_prompts add column agent_name text, add column model text;
