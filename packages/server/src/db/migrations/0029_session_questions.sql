-- What an agent asks a person: permissions and questions of its runtime, and connector calls to approve.
create type question_kind as enum ('permission', 'question', 'connector');
create type question_status as enum ('open', 'answered', 'expired');

create table session_questions (
  question_id uuid primary key,
  session_id uuid not null references project_sessions on delete cascade,
  generation integer not null,
  kind question_kind not null,
  -- The runtime's name of the request, and which of its questions this is. Null for a connector call.
  runtime_id text,
  position integer not null default 0,
  multiple boolean not null default false,
  title text not null,
  detail text not null,
  options jsonb not null,
  -- An open one with an answer has been answered and waits for delivery to the runtime.
  status question_status not null default 'open',
  answer text,
  answered_by uuid references users on delete set null,
  answered_at timestamptz(3),
  reason text,
  asked_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  unique (session_id, generation, runtime_id, position)
);
create index idx_session_questions_list on session_questions (session_id, asked_at desc, question_id desc);
create index idx_session_questions_open on session_questions (session_id) where status = 'open';
create index idx_session_questions_expires on session_questions (expires_at) where status = 'open';
