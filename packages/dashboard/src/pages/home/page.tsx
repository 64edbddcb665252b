import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api.ts'
import { Read } from '../../components/requests.tsx'
import { ProjectEvents } from '../../cache/project-events.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { ChangeRequestRow } from '../../components/change-request-row.tsx'
import { SessionRow } from '../../components/session-row.tsx'
import { paths } from '../../paths.ts'
import { type ChangeRequest, changeRequests, mergeability } from '../change-requests/queries.ts'
import { type Project, projects } from '../projects/queries.ts'
import { type Session, sessions } from '../sessions/queries.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Card, Empty, Notice, Page, Row, Rows } from '../../ui/layout.tsx'
import { type Approval, approvals } from '../connectors/queries.ts'
import { FirstVisit } from './first-visit.tsx'
import { DeletedProjects } from '../projects/deleted.tsx'
import { SessionLink } from '../../components/links.tsx'

export function HomePage() {
  return (
    <Read query={projects} what="your projects">
      {(all) =>
        all.length === 0 ? (
          <div className="flex flex-col gap-6">
            <FirstVisit />
            <DeletedProjects account={undefined} />
          </div>
        ) : (
          <Home projects={all} />
        )
      }
    </Read>
  )
}

/** Each stream takes one of a browser's six connections to a server. The other projects are polled. */
const liveMax = 2
/** The change requests with a mergeability badge. The server tries a merge for each. */
const checkedMax = 50
const stoppedMax = 10

function Home({ projects }: { projects: Project[] }) {
  const { all, open, pending, reads } = useWork(projects)
  const isLoading = reads.some(({ isPending }) => isPending)
  const openOf = (project: Project) => open.flatMap((each) => (each.project === project ? each.cr : []))
  const rowOf = ({ session, project }: Working) => (
    <SessionRow key={session.session_id} session={session} slug={project.slug} open={openOf(project)}>
      {project.name}
    </SessionRow>
  )
  // These sessions have a row for their connector call.
  const called = new Set(pending.map(({ approval }) => approval.session_id))
  const running = all.filter(isRunning)
  const waiting = running.filter(({ session }) => session.waiting_for === 'person' && !called.has(session.session_id))
  const failed = all.filter(({ session }) => session.status === 'failed')
  const stopped = all.filter(({ session }) => session.status === 'stopped').slice(0, stoppedMax)
  const empty = (text: string) => <Empty>{isLoading ? 'Loading…' : text}</Empty>
  return (
    <Page title="Home">
      <ProjectEvents projectIds={projects.slice(0, liveMax).map(({ project_id }) => project_id)} />
      <NoModel />
      <Failures reads={reads} />
      <Card title="Needs you">
        <Rows label="Needs you" empty={empty('Nothing needs you right now.')}>
          {pending.map(({ approval, project }) => (
            <PendingApprovalRow key={approval.approval_id} approval={approval} project={project} />
          ))}
          {[...waiting, ...failed].map(rowOf)}
          {open.map(({ cr, project: { slug, name } }, i) => (
            <ChangeRequestRow key={cr.cr_id} cr={cr} slug={slug} state={i < checkedMax && <Mergeability cr={cr} />}>
              {name}
            </ChangeRequestRow>
          ))}
        </Rows>
      </Card>
      <Card title="Running">
        <Rows label="Running" empty={empty('No sessions are running.')}>
          {running.map(rowOf)}
        </Rows>
      </Card>
      {stopped.length > 0 && (
        <Card title="Recently stopped">
          <Rows label="Recently stopped">{stopped.map(rowOf)}</Rows>
        </Card>
      )}
      {all.length === 0 && !isLoading && projects[0] !== undefined && (
        <p className="text-dim">
          No sessions yet.{' '}
          <Link to={paths.sessions} params={{ project: projects[0].slug }} className="text-accent underline">
            Start a session in {projects[0].name}
          </Link>
        </p>
      )}
    </Page>
  )
}

interface Working {
  session: Session
  project: Project
}

function isRunning({ session }: Working): boolean {
  return session.status === 'running' || session.status === 'provisioning'
}

/** Collects the entries of all projects, each with its project, from the answers in `reads`. */
function useWork(projects: Project[]) {
  const proposals = useQueries({ queries: projects.map(({ project_id }) => changeRequests(project_id, 'open')) })
  const agents = useQueries({ queries: projects.map(({ project_id }) => sessions(project_id)) })
  const open = projects.flatMap((project, i) => (proposals[i]?.data ?? []).map((cr) => ({ cr, project })))
  const all = projects.flatMap((project, i) => (agents[i]?.data ?? []).map((session) => ({ session, project })))
  // Only a running agent can wait for approval.
  const busy = new Set(all.filter(isRunning).map(({ project }) => project))
  const called = useQueries({
    queries: projects.map((project) => ({ ...approvals(project.project_id), enabled: busy.has(project) })),
  })
  const pending = projects.flatMap((project, i) =>
    busy.has(project) ? (called[i]?.data ?? []).map((approval) => ({ approval, project })) : [],
  )
  const reads = [proposals, agents].flatMap((each) =>
    each.map(({ error, data, isPending }, i) => ({ error, data, isPending, project: projects[i]! })),
  )
  return { open, all, pending, reads }
}

interface ReadState {
  project: Project
  error: Error | null
  data: unknown
}

/** The projects with failed reads, by error message. */
function Failures({ reads }: { reads: ReadState[] }) {
  const failed = reads.filter(({ error, data }) => error !== null && data === undefined)
  return [...Map.groupBy(failed, ({ error }) => error!.message)].map(([message, each]) => {
    const names = new Set(each.map(({ project }) => project.name))
    const { error } = each[0]!
    return (
      <Notice key={message} tone="warn" title={`Couldn't load everything for ${[...names].join(', ')}: ${message}`}>
        {error instanceof ApiError ? error.hint : null}
      </Notice>
    )
  })
}

function Mergeability({ cr }: { cr: ChangeRequest }) {
  const found = useQuery(mergeability(cr))
  if (found.data === undefined) return <Badge>{found.isError ? 'unreachable' : 'checking'}</Badge>
  const { can_merge, is_up_to_date, conflicts } = found.data
  if (is_up_to_date) return <Badge>nothing to merge</Badge>
  if (can_merge) return <Badge tone="good">ready to merge</Badge>
  return <Badge tone="bad">{conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`}</Badge>
}

function PendingApprovalRow({ approval, project }: { approval: Approval; project: Project }) {
  const { session_id: sessionId, slug, tool, created_at: createdAt } = approval
  const call = `Wants to call ${slug} ${tool}`
  const linkClass = 'font-medium hover:underline'
  return (
    <Row>
      <Badge tone="warn">needs approval</Badge>
      <span className="min-w-0 flex-1 basis-40">
        {sessionId === null ? (
          <Link to={paths.connectors} params={{ project: project.slug }} className={linkClass}>
            {call}
          </Link>
        ) : (
          <SessionLink project={project.slug} sessionId={sessionId} className={linkClass}>
            {call}
          </SessionLink>
        )}
      </span>
      <span className="min-w-0 text-sm text-dim">{project.name}</span>
      <Time at={createdAt} />
    </Row>
  )
}
