import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { SessionStatus } from '../../components/status.tsx'
import { paths } from '../../paths.ts'
import { sessions } from '../../queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Time } from '../../ui/time.tsx'
import { NewSession } from './new-session.tsx'

export function SessionsPage() {
  const { project_id, slug } = useProject()
  const list = useQuery(sessions(project_id))
  if (list.isPending) return <Loading what="sessions" />
  if (list.isError) return <Failure error={list.error} retry={() => void list.refetch()} />
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-xl font-semibold">Sessions</h1>
      <NewSession />
      <Card>
        {list.data.length === 0 ? (
          <Empty>No session yet.</Empty>
        ) : (
          <Rows label="Sessions">
            {list.data.map((session) => (
              <Row key={session.session_id}>
                <SessionStatus status={session.status} />
                <span className="min-w-0 flex-1">
                  <Link
                    to={paths.session}
                    params={{ project: slug, sessionId: session.session_id }}
                    className="font-medium hover:underline"
                  >
                    {session.name}
                  </Link>
                  {session.error !== null && <span className="block text-sm text-bad">{session.error}</span>}
                </span>
                <span className="text-sm text-dim">{session.agent_name}</span>
                <Time at={session.last_active_at} />
              </Row>
            ))}
          </Rows>
        )}
      </Card>
    </div>
  )
}
