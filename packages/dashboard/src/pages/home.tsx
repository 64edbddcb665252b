import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Failure } from '../components/failure.tsx'
import { ChangeRequestStatus, SessionStatus } from '../components/status.tsx'
import { paths } from '../paths.ts'
import { changeRequests, projects, sessions } from '../queries.ts'
import { Card, Empty, Row, Rows } from '../ui/card.tsx'
import { Command } from '../ui/copy.tsx'
import { Loading } from '../ui/loading.tsx'
import { Time } from '../ui/time.tsx'

/** What waits for a person, and what runs now, over all projects. */
export function HomePage() {
  const list = useQuery(projects)
  if (list.isPending) return <Loading what="your projects" />
  if (list.isError) return <Failure error={list.error} retry={() => void list.refetch()} />
  if (list.data.length === 0) return <FirstVisit />
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Home</h1>
      <OpenChangeRequests projects={list.data} />
      <Sessions projects={list.data} />
    </div>
  )
}

type Projects = { project_id: string; name: string; slug: string }[]

function OpenChangeRequests({ projects }: { projects: Projects }) {
  const answers = useQueries({ queries: projects.map(({ project_id }) => changeRequests(project_id, 'open')) })
  const rows = answers.flatMap(({ data = [] }, i) => data.map((cr) => ({ cr, project: projects[i]! })))
  return (
    <Card title="Waiting for a merge">
      {rows.length === 0 ? (
        <Empty>No open change request.</Empty>
      ) : (
        <Rows label="Open change requests">
          {rows.map(({ cr, project }) => (
            <Row key={cr.cr_id}>
              <ChangeRequestStatus status={cr.status} />
              <Link
                to={paths.changeRequest}
                params={{ project: project.slug, number: String(cr.number) }}
                className="min-w-0 flex-1 font-medium hover:underline"
              >
                #{cr.number} {cr.title}
              </Link>
              <span className="text-dim">{project.name}</span>
              <Time at={cr.updated_at} />
            </Row>
          ))}
        </Rows>
      )}
    </Card>
  )
}

function Sessions({ projects }: { projects: Projects }) {
  const answers = useQueries({ queries: projects.map(({ project_id }) => sessions(project_id)) })
  const rows = answers.flatMap(({ data = [] }, i) => data.map((session) => ({ session, project: projects[i]! })))
  return (
    <Card title="Sessions">
      {rows.length === 0 ? (
        <Empty>No session yet.</Empty>
      ) : (
        <Rows label="Sessions">
          {rows.map(({ session, project }) => (
            <Row key={session.session_id}>
              <SessionStatus status={session.status} />
              <span className="min-w-0 flex-1">
                <Link
                  to={paths.session}
                  params={{ project: project.slug, sessionId: session.session_id }}
                  className="font-medium hover:underline"
                >
                  {session.name}
                </Link>
                {session.error !== null && <span className="block text-sm text-bad">{session.error}</span>}
              </span>
              <span className="text-dim">{project.name}</span>
              <Time at={session.last_active_at} />
            </Row>
          ))}
        </Rows>
      )}
    </Card>
  )
}

function FirstVisit() {
  const steps = [
    ['Give it a repository', 'svc projects create --repo <url> --link'],
    ['Start an agent on it', 'svc sessions new --prompt "…"'],
    ['Look at what it proposes, and merge', 'svc cr show 1'],
  ] as const
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-6">
      <h1 className="text-xl font-semibold">Three steps to a first merged change</h1>
      <ol className="flex flex-col gap-4">
        {steps.map(([title, command], i) => (
          <li key={title} className="flex flex-col gap-2">
            <p className="font-medium">
              {i + 1}. {title}
            </p>
            <Command>{command}</Command>
          </li>
        ))}
      </ol>
      <p className="text-dim">Or see the whole path with a scripted model:</p>
      <Command>svc tour</Command>
    </div>
  )
}
