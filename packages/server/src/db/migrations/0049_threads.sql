-- Reviews as threads with a state, the versions of a change request, and what each person has viewed and drafted.

-- The same id wherever it is made: by this migration, by an old server's insert, and for the prompt of a review.
create function review_comment_id(review uuid, at integer) returns uuid language sql immutable as $$
  select overlay(overlay(md5(review::text || ':' || at::text) placing '8' from 13) placing '8' from 17)::uuid
$$;

create type review_outcome as enum ('done', 'declined');

-- One row for each comment of a review, and one for a review that has only a text.
create table review_comments (
  comment_id uuid primary key,
  review_id uuid not null references change_request_reviews on delete cascade,
  cr_id uuid not null references change_requests on delete cascade,
  position integer not null,
  outcome review_outcome,
  commit_sha text,
  answered_head_sha text,
  answered_at timestamptz(3),
  resolved_at timestamptz(3),
  resolved_by uuid references users on delete set null,
  -- Where its lines are in `checked_sha` of its review; null while they are where the reviewer saw them.
  current_path text,
  current_line integer,
  current_start_line integer,
  outdated boolean not null default false,
  unique (review_id, position)
);
create index idx_review_comments_cr on review_comments (cr_id);

create table review_replies (
  reply_id uuid primary key,
  comment_id uuid not null references review_comments on delete cascade,
  text text not null,
  outcome review_outcome,
  commit_sha text,
  created_by uuid references users on delete set null,
  session_id uuid references project_sessions on delete set null,
  created_at timestamptz(3) not null default now()
);
create index idx_review_replies_comment on review_replies (comment_id, created_at);
create index idx_review_replies_session on review_replies (session_id);

-- `checked_sha`: the head for which the places of its comments were computed. `related_*`: the commit that names it.
alter table change_request_reviews
  add column checked_sha text,
  add column related_sha text,
  add column related_at timestamptz(3);

create function keep_review_comments() returns trigger language plpgsql as $$
begin
  insert into review_comments (comment_id, review_id, cr_id, position)
    select review_comment_id(new.review_id, at), new.review_id, new.cr_id, at
    from generate_series(0, greatest(jsonb_array_length(new.comments), 1) - 1) as at
    on conflict do nothing;
  return null;
end $$;
create trigger change_request_reviews_keep_comments after insert on change_request_reviews
  for each row execute function keep_review_comments();

insert into review_comments (comment_id, review_id, cr_id, position)
  select review_comment_id(review_id, at), review_id, cr_id, at
  from change_request_reviews, generate_series(0, greatest(jsonb_array_length(comments), 1) - 1) as at
  on conflict do nothing;

-- Each push of the head branch that the service saw. Unlike the heads, a head that returns is a version again.
create table change_request_versions (
  cr_id uuid not null references change_requests on delete cascade,
  number integer not null,
  from_sha text,
  head_sha text not null,
  base_sha text,
  seen_at timestamptz(3) not null default now(),
  primary key (cr_id, number)
);

create function keep_change_request_version() returns trigger language plpgsql as $$
declare last change_request_versions;
begin
  select * into last from change_request_versions where cr_id = new.cr_id order by number desc limit 1;
  if last.head_sha is distinct from new.head_commit_sha then
    insert into change_request_versions (cr_id, number, from_sha, head_sha, base_sha)
      values (new.cr_id, coalesce(last.number, 0) + 1, last.head_sha, new.head_commit_sha, new.base_commit_sha)
      on conflict do nothing;
    delete from change_request_versions where cr_id = new.cr_id and number <= coalesce(last.number, 0) - 999;
  end if;
  return null;
end $$;
create trigger change_requests_keep_version after insert or update of head_commit_sha on change_requests
  for each row when (new.head_commit_sha is not null) execute function keep_change_request_version();

insert into change_request_versions (cr_id, number, from_sha, head_sha, base_sha, seen_at)
  select heads.cr_id,
    row_number() over seen,
    lag(head_sha) over seen,
    head_sha,
    case when head_sha = head_commit_sha then base_commit_sha end,
    seen_at
  from change_request_heads as heads join change_requests using (cr_id)
  window seen as (partition by heads.cr_id order by seen_at, head_sha = head_commit_sha, head_sha)
  on conflict do nothing;

create table review_viewed_files (
  cr_id uuid not null references change_requests on delete cascade,
  user_id uuid not null references users on delete cascade,
  path text not null,
  version text not null,
  primary key (cr_id, user_id, path)
);
create index idx_review_viewed_files_user on review_viewed_files (user_id);

create table review_drafts (
  draft_id uuid not null,
  cr_id uuid not null references change_requests on delete cascade,
  user_id uuid not null references users on delete cascade,
  comment jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (cr_id, user_id, draft_id)
);
create index idx_review_drafts_user on review_drafts (user_id);

-- The head that a person saw last, and the one before it.
create table review_visits (
  cr_id uuid not null references change_requests on delete cascade,
  user_id uuid not null references users on delete cascade,
  head_sha text not null,
  visited_at timestamptz(3) not null,
  earlier_head_sha text,
  earlier_visited_at timestamptz(3),
  primary key (cr_id, user_id)
);
create index idx_review_visits_user on review_visits (user_id);
