-- A server that stops takes its row of server_instances along. When it was last seen stays with its name.
alter table servers add column last_seen_at timestamptz(3);

create function keep_last_seen() returns trigger language plpgsql as $$
begin
  update servers set last_seen_at = greatest(last_seen_at, old.heartbeat_at) where server_name = old.server_name;
  return null;
end
$$;

create trigger keep_last_seen after delete on server_instances for each row execute function keep_last_seen();
