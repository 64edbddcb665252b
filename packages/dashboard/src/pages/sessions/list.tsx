import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { Older } from '../../components/older.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { SessionRow } from '../../components/session-row.tsx'
import { branches, changeRequests, sessionPage } from '../../queries.ts'
import { Card, Empty, Rows } from '../../ui/card.tsx'
import { NewSession } from './new-session.tsx'

const route = getRouteApi('/shell/projects/$project/sessions')

export function SessionsPage() {
  const { project_id, slug } = useProject()
  const { cursor = null } = route.useSearch()
  const page = useQuery(sessionPage(project_id, cursor))
  const { data: open = [] } = useQuery(changeRequests(project_id, 'open'))
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-xl font-semibold">Sessions</h1>
      <NewSession />
      <Answer of={page} what="sessions">
        {({ data: list, cursor: next }) => (
          <Card>
            {list.length === 0 ? (
              <NoSession />
            ) : (
              <Rows label="Sessions">
                {list.map((session) => (
                  <SessionRow key={session.session_id} session={session} slug={slug} open={open}>
                    {session.agent_name}
                  </SessionRow>
                ))}
              </Rows>
            )}
            <Older cursor={cursor} next={next} />
          </Card>
        )}
      </Answer>
    </div>
  )
}

function NoSession() {
  const { project_id, slug } = useProject()
  const found = useQuery(branches(project_id))
  if (found.data?.branches.length === 0) return <EmptyRepository />
  return (
    <Empty command={`svc sessions new --prompt "<what it is to do>" --project ${slug}`}>
      No session yet. Start one above, or in a terminal:
    </Empty>
  )
}
