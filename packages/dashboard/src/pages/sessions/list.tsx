import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useLocation } from '@tanstack/react-router'
import { Read } from '../../components/requests.tsx'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { SessionRow } from '../../components/session-row.tsx'
import { branches } from '../projects/queries.ts'
import { changeRequests } from '../change-requests/queries.ts'
import { sessionPage } from './queries.ts'
import { Card, Empty, Page, Rows } from '../../ui/layout.tsx'
import { NewSession } from './new-session.tsx'
import { buttonClass } from '../../ui/form.tsx'

const route = getRouteApi('/shell/projects/$project/sessions')

export function SessionsPage() {
  const project = useProject()
  const { project_id, slug } = project
  const { cursor = null } = route.useSearch()
  const { data: open = [] } = useQuery(changeRequests(project_id, 'open'))
  return (
    <Page title="Sessions">
      <NewSession project={project} />
      <Read query={sessionPage(project_id, cursor)} what="sessions">
        {({ data: list, cursor: next }) => (
          <Card>
            <Rows label="Sessions" empty={<NoSessions />}>
              {list.map((session) => (
                <SessionRow key={session.session_id} session={session} slug={slug} open={open} />
              ))}
            </Rows>
            <Older cursor={cursor} next={next} />
          </Card>
        )}
      </Read>
    </Page>
  )
}

function NoSessions() {
  const project = useProject()
  const found = useQuery(branches(project.project_id))
  if (found.data?.branches.length === 0) return <EmptyRepository project={project} />
  return <Empty>No sessions yet. A session is one conversation with an agent on its own branch. Start one above.</Empty>
}

function Older({ cursor, next }: { cursor: string | null; next: string | null }) {
  const { pathname } = useLocation()
  if (cursor === null && next === null) return null
  return (
    <nav aria-label="Pages" className="flex justify-center gap-2 border-t border-line p-3">
      {cursor !== null && (
        <Link to={pathname} search={(before) => ({ ...before, cursor: undefined })} className={buttonClass()}>
          Newest
        </Link>
      )}
      {next !== null && (
        <Link to={pathname} search={(before) => ({ ...before, cursor: next })} className={buttonClass()}>
          Older
        </Link>
      )}
    </nav>
  )
}
