import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../api.ts'
import { Answer } from '../components/answer.tsx'
import { Live } from '../components/live.tsx'
import { NoModel } from '../components/no-model.tsx'
import { ChangeRequestRow } from '../components/change-request-row.tsx'
import { SessionRow } from '../components/session-row.tsx'
import { paths } from '../paths.ts'
import { type ChangeRequest, changeRequests, mergeability, projects, type Session, sessions } from '../queries.ts'
import { Badge } from '../ui/badge.tsx'
import { Card, Empty, Rows } from '../ui/card.tsx'
import { Notice } from '../ui/notice.tsx'
import { AskedRow } from './connectors/asked-row.tsx'
import { approvals } from './connectors/queries.ts'
import { FirstVisit } from './first-visit.tsx'

/** What waits for a person, and what runs now, over all projects. */
export function HomePage() {
  const list = useQuery(projects)
  return (
    <Answer of={list} what="your projects">
      {(all) => (all.length === 0 ? <FirstVisit /> : <Work projects={all} />)}
    </Answer>
  )
}

/** A stream holds one of the six connections a browser has to one server; the other projects are asked now and then. */
const liveMax = 2

interface Project {
  project_id: string
  name: string
  slug: string
}

function Work({ projects }: { projects: Project[] }) {
  const proposals = useQueries({ queries: projects.map(({ project_id }) => changeRequests(project_id, 'open')) })
  const agents = useQueries({ queries: projects.map(({ project_id }) => sessions(project_id)) })
  const open = proposals.flatMap(({ data = [] }, i) => data.map((cr) => ({ cr, project: projects[i]! })))
  const openOf = ({ project_id }: Project) =>
    proposals[projects.findIndex((each) => each.project_id === project_id)]?.data ?? []
  const all = agents.flatMap(({ data = [] }, i) => data.map((session) => ({ session, project: projects[i]! })))
  const failed = all.filter(({ session }) => session.status === 'failed')
  const running = all.filter(({ session }) => session.status === 'running' || session.status === 'provisioning')
  // Only an agent that runs can ask.
  const busy = new Set(running.map(({ project }) => project.project_id))
  const questions = useQueries({
    queries: projects.map(({ project_id: id }) => ({ ...approvals(id), enabled: busy.has(id) })),
  })
  const asked = questions.flatMap(({ data = [] }, i) =>
    busy.has(projects[i]!.project_id) ? data.map((approval) => ({ approval, project: projects[i]! })) : [],
  )
  // A call of a connector has a row of its own.
  const called = new Set(asked.map(({ approval }) => approval.session_id))
  const waiting = running.filter(({ session }) => session.waiting_for === 'person' && !called.has(session.session_id))
  const rest = all.filter(({ session }) => session.status === 'stopped').slice(0, stoppedMax)
  const refusals = [...refusalsOf([proposals, agents], projects)]
  const isComing = [...proposals, ...agents].some(({ isPending }) => isPending)
  return (
    <div className="flex flex-col gap-6">
      <Live projectIds={projects.slice(0, liveMax).map(({ project_id }) => project_id)} />
      <h1 className="text-xl font-semibold">Home</h1>
      <NoModel />
      {refusals.map(([message, { names, error }]) => (
        <Notice key={message} tone="warn" title={`Of ${[...names].join(', ')} not everything can be shown: ${message}`}>
          {error instanceof ApiError ? error.hint : null}
        </Notice>
      ))}
      <Card title="Needs you">
        {asked.length + waiting.length + open.length + failed.length === 0 ? (
          <Empty>{isComing ? 'Looking…' : 'Nothing waits for you.'}</Empty>
        ) : (
          <Rows label="What needs you">
            {asked.map(({ approval, project: { slug, name } }) => (
              <AskedRow key={approval.approval_id} approval={approval} slug={slug} name={name} />
            ))}
            {[...waiting, ...failed].map(({ session, project }) => (
              <SessionRow key={session.session_id} session={session} slug={project.slug} open={openOf(project)}>
                {project.name}
              </SessionRow>
            ))}
            {open.map(({ cr, project }, i) => (
              <ChangeRequestRow
                key={cr.cr_id}
                cr={cr}
                slug={project.slug}
                state={i < judgedMax && <Mergeability cr={cr} />}
              >
                {project.name}
              </ChangeRequestRow>
            ))}
          </Rows>
        )}
      </Card>
      <Sessions title="Runs now" rows={running} none="No session runs." isComing={isComing} openOf={openOf} />
      {rest.length > 0 && <Sessions title="Stopped lately" rows={rest} none="" isComing={isComing} openOf={openOf} />}
      {all.length === 0 && !isComing && projects[0] !== undefined && (
        <p className="text-dim">
          No agent has worked here yet.{' '}
          <Link to={paths.sessions} params={{ project: projects[0].slug }} className="text-accent underline">
            Start a session on {projects[0].name}
          </Link>
        </p>
      )}
    </div>
  )
}

interface Asked {
  error: unknown
  data: unknown
}

/** Of which projects something could not be read, by the reason. */
function refusalsOf(asked: Asked[][], projects: Project[]): Map<string, { names: Set<string>; error: unknown }> {
  const found = new Map<string, { names: Set<string>; error: unknown }>()
  for (const each of asked)
    for (const [i, { error, data }] of each.entries()) {
      if (error === null || data !== undefined) continue
      const message = error instanceof Error ? error.message : String(error)
      const of = found.get(message) ?? { names: new Set(), error }
      of.names.add(projects[i]!.name)
      found.set(message, of)
    }
  return found
}

/** So many are asked whether they merge; each is a merge tried by the server. */
const judgedMax = 50
const stoppedMax = 10

function Mergeability({ cr }: { cr: ChangeRequest }) {
  const found = useQuery(mergeability(cr.project_id, cr))
  if (found.data === undefined) return <Badge>{found.isError ? 'cannot be reached' : 'checking'}</Badge>
  const { can_merge, is_up_to_date, conflicts } = found.data
  if (is_up_to_date) return <Badge>nothing to merge</Badge>
  if (can_merge) return <Badge tone="good">ready to merge</Badge>
  return <Badge tone="bad">{conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`}</Badge>
}

function Sessions({
  title,
  rows,
  none,
  isComing,
  openOf,
}: {
  title: string
  rows: { session: Session; project: Project }[]
  none: string
  isComing: boolean
  openOf: (project: Project) => ChangeRequest[]
}) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty>{isComing ? 'Looking…' : none}</Empty>
      ) : (
        <Rows label={title}>
          {rows.map(({ session, project }) => (
            <SessionRow key={session.session_id} session={session} slug={project.slug} open={openOf(project)}>
              {project.name}
            </SessionRow>
          ))}
        </Rows>
      )}
    </Card>
  )
}
