import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { ProjectEvents } from '../../cache/project-events.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { ChangeRequestRow } from '../../components/change-request-row.tsx'
import { SessionRow } from '../../components/session-row.tsx'
import { paths } from '../../paths.ts'
import { type ChangeRequest, changeRequests, mergeability } from '../change-requests/queries.ts'
import { projects } from '../projects/queries.ts'
import { type Session, sessions } from '../sessions/queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Empty, Rows } from '../../ui/card.tsx'
import { Notice } from '../../ui/notice.tsx'
import { PendingApprovalRow } from '../connectors/pending-approval-row.tsx'
import { approvals } from '../connectors/queries.ts'
import { FirstVisit } from './first-visit.tsx'
import { DeletedProjects } from '../projects/deleted.tsx'

/** Work that needs the user, and running sessions, over all projects. */
export function HomePage() {
  const list = useQuery(projects)
  return (
    <QueryResult of={list} what="your projects">
      {(all) =>
        all.length === 0 ? (
          <div className="flex flex-col gap-6">
            <FirstVisit />
            <DeletedProjects account={undefined} />
          </div>
        ) : (
          <Work projects={all} />
        )
      }
    </QueryResult>
  )
}

/** Each stream takes one of a browser's six connections to a server. The other projects are polled. */
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
  // Only a running agent can wait for approval.
  const busy = new Set(running.map(({ project }) => project.project_id))
  const approvalLists = useQueries({
    queries: projects.map(({ project_id: id }) => ({ ...approvals(id), enabled: busy.has(id) })),
  })
  const pending = approvalLists.flatMap(({ data = [] }, i) =>
    busy.has(projects[i]!.project_id) ? data.map((approval) => ({ approval, project: projects[i]! })) : [],
  )
  // These sessions have a row for their connector call.
  const called = new Set(pending.map(({ approval }) => approval.session_id))
  const waiting = running.filter(({ session }) => session.waiting_for === 'person' && !called.has(session.session_id))
  const rest = all.filter(({ session }) => session.status === 'stopped').slice(0, stoppedMax)
  const failures = [...failuresOf([proposals, agents], projects)]
  const isLoading = [...proposals, ...agents].some(({ isPending }) => isPending)
  return (
    <div className="flex flex-col gap-6">
      <ProjectEvents projectIds={projects.slice(0, liveMax).map(({ project_id }) => project_id)} />
      <h1 className="text-xl font-semibold">Home</h1>
      <NoModel />
      {failures.map(([message, { names, error }]) => (
        <Notice key={message} tone="warn" title={`Couldn't load everything for ${[...names].join(', ')}: ${message}`}>
          {error instanceof ApiError ? error.hint : null}
        </Notice>
      ))}
      <Card title="Needs you">
        {pending.length + waiting.length + open.length + failed.length === 0 ? (
          <Empty>{isLoading ? 'Loading…' : 'Nothing needs you right now.'}</Empty>
        ) : (
          <Rows label="Needs you">
            {pending.map(({ approval, project: { slug, name } }) => (
              <PendingApprovalRow key={approval.approval_id} approval={approval} slug={slug} name={name} />
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
                state={i < checkedMax && <Mergeability cr={cr} />}
              >
                {project.name}
              </ChangeRequestRow>
            ))}
          </Rows>
        )}
      </Card>
      <Sessions title="Running" rows={running} none="No sessions are running." isLoading={isLoading} openOf={openOf} />
      {rest.length > 0 && (
        <Sessions title="Recently stopped" rows={rest} none="" isLoading={isLoading} openOf={openOf} />
      )}
      {all.length === 0 && !isLoading && projects[0] !== undefined && (
        <p className="text-dim">
          No sessions yet.{' '}
          <Link to={paths.sessions} params={{ project: projects[0].slug }} className="text-accent underline">
            Start a session in {projects[0].name}
          </Link>
        </p>
      )}
    </div>
  )
}

interface ReadState {
  error: unknown
  data: unknown
}

/** The projects with failed reads, by error message. */
function failuresOf(reads: ReadState[][], projects: Project[]): Map<string, { names: Set<string>; error: unknown }> {
  const found = new Map<string, { names: Set<string>; error: unknown }>()
  for (const each of reads)
    for (const [i, { error, data }] of each.entries()) {
      if (error === null || data !== undefined) continue
      const message = error instanceof Error ? error.message : String(error)
      const of = found.get(message) ?? { names: new Set(), error }
      of.names.add(projects[i]!.name)
      found.set(message, of)
    }
  return found
}

/** The change requests with a mergeability badge. The server tries a merge for each. */
const checkedMax = 50
const stoppedMax = 10

function Mergeability({ cr }: { cr: ChangeRequest }) {
  const found = useQuery(mergeability(cr.project_id, cr))
  if (found.data === undefined) return <Badge>{found.isError ? 'unreachable' : 'checking'}</Badge>
  const { can_merge, is_up_to_date, conflicts } = found.data
  if (is_up_to_date) return <Badge>nothing to merge</Badge>
  if (can_merge) return <Badge tone="good">ready to merge</Badge>
  return <Badge tone="bad">{conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`}</Badge>
}

function Sessions({
  title,
  rows,
  none,
  isLoading,
  openOf,
}: {
  title: string
  rows: { session: Session; project: Project }[]
  none: string
  isLoading: boolean
  openOf: (project: Project) => ChangeRequest[]
}) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty>{isLoading ? 'Loading…' : none}</Empty>
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
