create table change_request_reviews (
  review_id uuid primary key,
  cr_id uuid not null references change_requests on delete cascade,
  head_sha text not null,
  body text not null,
  comments jsonb not null,
  created_by uuid references users on delete set null,
  session_id uuid references project_sessions on delete set null,
  created_at timestamptz(3) not null default now()
);
create index idx_change_request_reviews_cr on change_request_reviews (cr_id, created_at);
create index idx_change_request_reviews_session on change_request_reviews (session_id);
