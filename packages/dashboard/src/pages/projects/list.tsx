import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { InboxEvents } from '../../cache/inbox-events.tsx'
import { Failure, Read } from '../../components/requests.tsx'
import { useRole } from '../../components/role.ts'
import { firstPage } from '../../components/shell/rooms.ts'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { type OpenWork, openWork, type Project, projects } from './queries.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, Rows } from '../../ui/layout.tsx'
import { Badge } from '../../ui/text.tsx'
import { DeletedProjects } from './deleted.tsx'

export function ProjectsPage() {
  const account = useQuery(me).data?.account
  // One answer for all rows, at the same time as the list.
  const open = useQuery(openWork)
  const openIn = new Map(open.data?.map((each) => [each.project_id, each]))
  const newProject = (
    <Link to={paths.newProject} className={buttonClass('primary')}>
      New project
    </Link>
  )
  return (
    <Page title="Projects" aside={newProject}>
      <InboxEvents />
      {open.data === undefined && open.error !== null && (
        <Failure error={open.error} retry={() => void open.refetch()} />
      )}
      <Read query={projects} what="your projects">
        {(all) => (
          <Card>
            <Rows
              label="Projects"
              empty={<Empty>No projects yet. Create one from a git repository, or let svc host a new one.</Empty>}
            >
              {all
                .filter(({ account_id }) => account === undefined || account_id === account.account_id)
                .map((project) => (
                  <ProjectRow
                    key={project.project_id}
                    project={project}
                    open={open.data === undefined ? undefined : (openIn.get(project.project_id) ?? null)}
                  />
                ))}
            </Rows>
          </Card>
        )}
      </Read>
      <DeletedProjects account={account} />
    </Page>
  )
}

/** `open` is undefined until it is known, and null for a project in which nothing is open. */
function ProjectRow({ project, open }: { project: Project; open: OpenWork | null | undefined }) {
  const { slug, name } = project
  const role = useRole(project.account_id)
  const needs = open?.needs_you ?? 0
  return (
    <Row>
      <span className="min-w-0 flex-1 basis-60">
        <span className="flex min-h-5.5 min-w-0 items-center gap-2">
          <Link
            to={firstPage(role)}
            params={{ project: slug }}
            className="truncate font-medium hover:underline"
            title={name}
          >
            {name}
          </Link>
          {needs > 0 && (
            <Link
              to={paths.home}
              search={{ project: slug }}
              className="inline-flex flex-none rounded-full hover:underline"
            >
              <Badge tone="warn">
                {needs === 1 ? '1 needs you' : `${needs} need you`}
                <span className="sr-only"> in {name}</span>
              </Badge>
            </Link>
          )}
        </span>
        {/* The line keeps its height until the counts are known. */}
        <span className="block min-h-lh text-sm text-dim">
          {open === null ? 'Nothing open' : open !== undefined && <Counts of={open} slug={slug} />}
        </span>
      </span>
      <span className="min-w-0 text-sm break-all text-faint max-sm:basis-full">
        {project.managed ? 'managed repository' : project.repo_url} · {project.default_branch}
      </span>
    </Row>
  )
}

function Counts({ of, slug }: { of: OpenWork; slug: string }) {
  const params = { project: slug }
  const parts = [
    [paths.changeRequests, of.change_requests ?? 0, 'open change request'],
    [paths.sessions, of.sessions, 'live session'],
  ] as const
  const shown = parts.filter(([, count]) => count > 0)
  if (shown.length === 0) return 'No open change requests or live sessions'
  return shown.map(([to, count, noun], at) => (
    <span key={to}>
      {at > 0 && ' · '}
      <Link to={to} params={params} className="hover:text-text hover:underline">
        {count} {noun}
        {count === 1 ? '' : 's'}
      </Link>
    </span>
  ))
}
