-- The heads a change request had, so that what came since one of them can be told after its branch was rewritten.
create table change_request_heads (
  cr_id uuid not null references change_requests on delete cascade,
  head_sha text not null,
  seen_at timestamptz(3) not null default now(),
  primary key (cr_id, head_sha)
);
create index idx_change_request_heads_seen on change_request_heads (cr_id, seen_at);

insert into change_request_heads (cr_id, head_sha, seen_at)
  select cr_id, head_commit_sha, updated_at from change_requests where head_commit_sha is not null;

-- Whoever writes a head, an old server too, leaves it here. A thousand are kept.
create function keep_change_request_head() returns trigger language plpgsql as $$
begin
  insert into change_request_heads (cr_id, head_sha) values (new.cr_id, new.head_commit_sha) on conflict do nothing;
  if found then
    delete from change_request_heads where cr_id = new.cr_id and seen_at < (
      select seen_at from change_request_heads where cr_id = new.cr_id order by seen_at desc offset 1000 limit 1
    );
  end if;
  return null;
end $$;
create trigger change_requests_keep_head after insert or update of head_commit_sha on change_requests
  for each row when (new.head_commit_sha is not null) execute function keep_change_request_head();
