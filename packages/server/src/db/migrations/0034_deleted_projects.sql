-- A deleted project is kept for a while and can be restored. Meanwhile its slug is its own id, so that others can take
-- the slug it had, and no two deleted projects are in each other's way.
alter table projects
  add column deleted_at timestamptz(3),
  add column deleted_by uuid,
  add column deleted_slug text,
  add column purge_at timestamptz(3),
  add column restored_at timestamptz(3),
  add constraint projects_deleted_whole check (
    (deleted_at is null) = (purge_at is null) and (deleted_at is null) = (deleted_slug is null)
    and (deleted_at is null) = (deleted_by is null));
create index idx_projects_purge on projects (purge_at) where purge_at is not null;

-- Wherever an id is accepted a slug is, so none may look like an id.
update projects p set slug = 'project-' || slug
where slug ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  and not exists (select 1 from projects o where o.account_id = p.account_id and o.slug = 'project-' || p.slug);
