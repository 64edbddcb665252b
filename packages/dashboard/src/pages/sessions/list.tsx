import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { Older } from '../../components/older.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { SessionRow } from '../../components/session-row.tsx'
import { sessionPage } from '../../queries.ts'
import { Card, Empty, Rows } from '../../ui/card.tsx'
import { NewSession } from './new-session.tsx'

const route = getRouteApi('/shell/projects/$project/sessions')

export function SessionsPage() {
  const { project_id, slug } = useProject()
  const { cursor = null } = route.useSearch()
  const page = useQuery(sessionPage(project_id, cursor))
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-xl font-semibold">Sessions</h1>
      <NewSession />
      <Answer of={page} what="sessions">
        {({ data: list, cursor: next }) => (
          <Card>
            {list.length === 0 ? (
              <Empty>No session yet.</Empty>
            ) : (
              <Rows label="Sessions">
                {list.map((session) => (
                  <SessionRow key={session.session_id} session={session} slug={slug}>
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
