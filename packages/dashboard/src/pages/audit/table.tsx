import { Link } from '@tanstack/react-router'
import { paths } from '../../paths.ts'
import type { AuditEvent } from './queries.ts'
import type { Member } from '../account/queries.ts'
import type { Project } from '../projects/queries.ts'
import { Time } from '../../ui/text.tsx'
import { changes } from './changes.ts'
import { linkClass, SessionLink } from '../../components/links.tsx'

interface Known {
  people: readonly Member[]
  projects: readonly Project[]
}

/** Lists changes with their actors and the values before and after. */
export function AuditTable({ events, ...known }: { events: readonly AuditEvent[] } & Known) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Audit log">
      <table className="w-full text-sm">
        <thead className="text-left text-dim">
          <tr className="border-b border-line">
            {['When', 'Who', 'What', 'Object', 'Changes', 'Address'].map((head) => (
              <th key={head} scope="col" className="px-4 py-2 font-normal">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.event_id} className="border-b border-line align-top last:border-0">
              <td className="px-4 py-1.5">
                <Time at={event.at} />
              </td>
              <td className="px-4 py-1.5 whitespace-nowrap">
                <Who event={event} {...known} />
              </td>
              <td className="px-4 py-1.5 font-mono whitespace-nowrap">{event.action}</td>
              <td className="px-4 py-1.5 whitespace-nowrap">
                <Of event={event} {...known} />
              </td>
              <td className="min-w-60 px-4 py-1.5 break-label text-dim">
                {changes(event.before, event.after).join(' · ')}
              </td>
              <td className="px-4 py-1.5 whitespace-nowrap text-dim">{event.address ?? ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A user, or who acted for them: an agent in its session, or the service. */
function Who({ event, people, projects }: { event: AuditEvent } & Known) {
  const name = people.find(({ user_id }) => user_id === event.actor_user_id)?.name ?? null
  if (event.session_id === null && event.actor_kind === 'user') return name ?? 'Former member'
  return (
    <>
      {event.session_id === null ? (
        event.actor_kind
      ) : (
        <Agent id={event.session_id} project={projectOf(event, projects)} />
      )}
      {name !== null && <span className="block text-dim">for {name}</span>}
    </>
  )
}

function Agent({ id, project }: { id: string; project: Project | undefined }) {
  const label = `Agent in session ${id.slice(0, 8)}`
  if (project === undefined) return label
  return (
    <SessionLink project={project.slug} sessionId={id}>
      {label}
    </SessionLink>
  )
}

function Of({ event, people, projects }: { event: AuditEvent } & Known) {
  const project = projectOf(event, projects)
  const short = /^[0-9a-f-]{36}$/.test(event.object_id) ? event.object_id.slice(0, 8) : event.object_id
  const within = project !== undefined && <span className="block text-dim">{project.name}</span>
  if (event.object_type === 'project' && project !== undefined)
    return (
      <Link to={paths.changeRequests} params={{ project: project.slug }} className={linkClass}>
        {project.name}
      </Link>
    )
  if (event.object_type === 'session' && project !== undefined)
    return (
      <>
        <SessionLink project={project.slug} sessionId={event.object_id}>
          session {short}
        </SessionLink>
        {within}
      </>
    )
  const person = people.find(({ user_id }) => user_id === event.object_id)
  const name = event.object_type === 'user' && person !== undefined ? person.name : short
  return (
    <>
      <span className="font-mono" title={event.object_id}>
        {name}
      </span>
      {within}
    </>
  )
}

function projectOf({ project_id: id }: AuditEvent, projects: readonly Project[]): Project | undefined {
  return projects.find(({ project_id }) => project_id === id)
}
