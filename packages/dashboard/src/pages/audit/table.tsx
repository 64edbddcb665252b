import { Link } from '@tanstack/react-router'
import type { projectPages } from '../../components/shell/rooms.ts'
import { paths } from '../../paths.ts'
import type { AuditEvent } from './queries.ts'
import type { Member } from '../account/queries.ts'
import type { Project } from '../projects/queries.ts'
import { Time } from '../../ui/text.tsx'
import { changes } from './changes.ts'
import { ChangeRequestLink, linkClass, SessionLink } from '../../components/links.tsx'

type ProjectPage = (typeof projectPages)[number]['to']

interface Known {
  people: readonly Member[]
  projects: readonly Project[]
}

/** Lists changes with their actors and the values before and after. */
export function AuditTable({ events, ...known }: { events: readonly AuditEvent[] } & Known) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Audit log">
      <table className="w-full text-sm">
        <thead className="text-left text-dim max-md:hidden">
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
            <tr
              key={event.event_id}
              className="border-b border-line align-top last:border-0 max-md:flex max-md:flex-wrap max-md:items-baseline max-md:gap-x-3 max-md:px-4 max-md:py-row"
            >
              <td className="px-4 py-1.5 max-md:p-0">
                <Time at={event.at} />
              </td>
              <td className="px-4 py-1.5 whitespace-nowrap max-md:p-0">
                <Who event={event} {...known} />
              </td>
              <td className="px-4 py-1.5 font-mono whitespace-nowrap max-md:p-0">{event.action}</td>
              <td className="px-4 py-1.5 whitespace-nowrap max-md:basis-full max-md:p-0">
                <Of event={event} {...known} />
              </td>
              <td className="px-4 py-1.5 break-label text-dim max-md:basis-full max-md:p-0 max-md:empty:hidden md:min-w-60">
                {changes(event.before, event.after).join(' · ')}
              </td>
              <td className="px-4 py-1.5 whitespace-nowrap text-dim max-md:p-0 max-md:empty:hidden">
                {event.address ?? ''}
              </td>
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
        <Agent id={event.session_id} name={event.session_name} project={projectOf(event, projects)} />
      )}
      {name !== null && <span className="block text-dim">for {name}</span>}
    </>
  )
}

/** `name` is null for a deleted session, and undefined if the server does not know it. */
function Agent({ id, name, project }: { id: string; name: string | null | undefined; project: Project | undefined }) {
  const label = `Agent in ${name ?? `session ${id.slice(0, 8)}`}`
  if (project === undefined || name === null) return label
  return (
    <SessionLink project={project.slug} sessionId={id}>
      {label}
    </SessionLink>
  )
}

function Of({ event, people, projects }: { event: AuditEvent } & Known) {
  const project = projectOf(event, projects)
  return (
    <>
      <ObjectLink event={event} people={people} project={project} />
      {project !== undefined && event.object_type !== 'project' && (
        <span className="block text-dim">{project.name}</span>
      )}
    </>
  )
}

/** The page on which a reader finds an object of this type of their project. */
const pageOf: Partial<Record<string, ProjectPage>> = {
  ...{ secret: paths.secrets, token: paths.projectTokens, webhook: paths.webhooks, channel: paths.channels },
  ...{ app: paths.apps, connector: paths.connectors, connector_tool: paths.connectors },
}

function ObjectLink({
  event: { object_type: type, object_id: id, object_name: name, object_number: number },
  people,
  project,
}: {
  event: AuditEvent
  people: Known['people']
  project: Project | undefined
}) {
  const short = isUuid.test(id) ? id.slice(0, 8) : id
  if (type === 'user' || type === 'invitation') {
    const person = people.find(({ user_id }) => user_id === id)
    return (
      <Link to={paths.members} className={linkClass} title={id}>
        {person?.name ?? `${type} ${short}`}
      </Link>
    )
  }
  const plain = (
    <span className="font-mono" title={id}>
      {short}
    </span>
  )
  if (project === undefined) return plain
  const { slug } = project
  if (type === 'project')
    return (
      <Link to={paths.changeRequests} params={{ project: slug }} className={linkClass}>
        {project.name}
      </Link>
    )
  if (type === 'change_request' && number != null)
    return (
      <ChangeRequestLink project={slug} number={number} className={named} title={name ?? id}>
        #{number} {name}
      </ChangeRequestLink>
    )
  if (type === 'session' && name !== null)
    return (
      <SessionLink project={slug} sessionId={id} className={named} title={name ?? id}>
        {name ?? `session ${short}`}
      </SessionLink>
    )
  if (type === 'commit')
    return (
      <Link to={paths.commit} params={{ project: slug, sha: id }} className={`font-mono ${linkClass}`} title={id}>
        {id.slice(0, 12)}
      </Link>
    )
  const page = pageOf[type]
  if (page === undefined) return plain
  return (
    <Link to={page} params={{ project: slug }} className={`font-mono ${linkClass}`} title={id}>
      {name ?? short}
    </Link>
  )
}

const named = `inline-block max-w-64 truncate align-bottom ${linkClass}`
const isUuid = /^[0-9a-f-]{36}$/

function projectOf({ project_id: id }: AuditEvent, projects: readonly Project[]): Project | undefined {
  return projects.find(({ project_id }) => project_id === id)
}
