import { Link } from '@tanstack/react-router'
import type { projectPages } from '../../components/shell/rooms.ts'
import { paths } from '../../paths.ts'
import type { AuditEvent } from './queries.ts'
import type { Member } from '../account/queries.ts'
import type { Project } from '../projects/queries.ts'
import { Time } from '../../ui/text.tsx'
import { changes } from './changes.ts'
import { namesIn } from './names.ts'
import { ChangeRequestLink, linkClass, SessionLink } from '../../components/links.tsx'
import { shortCommit } from '../../components/short-commit.ts'

type ProjectPage = (typeof projectPages)[number]['to']

interface Known {
  people: readonly Member[]
  projects: readonly Project[]
  /** By the ids of objects. */
  names: ReadonlyMap<string, string>
}

/** On a wide screen. On others a row is a few lines without columns. */
const columns = [
  ...([
    ['When', 'w-[11%]'],
    ['Who', 'w-[16%]'],
    ['What', 'w-[17%]'],
  ] as const),
  ...([
    ['Object', 'w-[20%]'],
    ['Changes', ''],
    ['Address', 'w-[13%]'],
  ] as const),
] as const

/** Lists changes with their actors and the values before and after. */
export function AuditTable({ events, ...lists }: { events: readonly AuditEvent[] } & Omit<Known, 'names'>) {
  const known = { ...lists, names: namesIn(events) }
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Audit log">
      <table className="w-full text-sm max-xl:block xl:table-fixed">
        <thead className="text-left text-dim max-xl:hidden">
          <tr className="border-b border-line">
            {columns.map(([head, width]) => (
              <th key={head} scope="col" className={`px-4 py-2 font-normal ${width}`}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-xl:block">
          {events.map((event) => (
            <tr
              key={event.event_id}
              className="border-b border-line align-top last:border-0 max-xl:flex max-xl:flex-wrap max-xl:items-baseline max-xl:gap-x-3 max-xl:px-4 max-xl:py-row"
            >
              <td className="px-4 py-1.5 max-xl:p-0">
                <Time at={event.at} />
              </td>
              <td className="px-4 py-1.5 wrap-anywhere max-xl:p-0">
                <Who event={event} {...known} />
              </td>
              <td className="px-4 py-1.5 wrap-anywhere max-xl:p-0">
                <Action name={event.action} />
              </td>
              <td className="px-4 py-1.5 wrap-anywhere max-xl:min-w-0 max-xl:basis-full max-xl:p-0">
                <Of event={event} {...known} />
              </td>
              <td className="px-4 py-1.5 break-label text-dim max-xl:basis-full max-xl:p-0 max-xl:empty:hidden">
                {changes(event.before, event.after).join(' · ')}
              </td>
              <td className="px-4 py-1.5 wrap-anywhere text-dim max-xl:p-0 max-xl:empty:hidden">
                {event.address ?? ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** `change_request.cancel_prompt` reads as “Change request: cancel prompt”. The API and its filter know the code. */
function Action({ name }: { name: string }) {
  const [noun = '', ...verb] = name.split('.').map((word) => word.replaceAll('_', ' '))
  return <span title={name}>{`${noun.charAt(0).toUpperCase()}${noun.slice(1)}: ${verb.join(' ')}`}</span>
}

/** A user, or who acted for them: an agent in its session, or the service. */
function Who({ event, people, projects }: { event: AuditEvent } & Omit<Known, 'names'>) {
  const name = people.find(({ user_id }) => user_id === event.actor_user_id)?.name ?? event.actor_name ?? null
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

function Of({ event, people, projects, names }: { event: AuditEvent } & Known) {
  const project = projectOf(event, projects)
  return (
    <>
      <ObjectLink event={event} people={people} project={project} known={names.get(event.object_id) ?? null} />
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
  known,
}: {
  event: AuditEvent
  people: Known['people']
  project: Project | undefined
  known: string | null
}) {
  const label = isUuid.test(id) ? (known ?? `${type.replaceAll('_', ' ')} ${id.slice(0, 8)}`) : id
  if (type === 'user' || type === 'invitation') {
    const person = people.find(({ user_id }) => user_id === id)
    return (
      <Link to={paths.members} className={linkClass} title={id}>
        {person?.name ?? label}
      </Link>
    )
  }
  const plain = (
    <span className={known === null ? 'font-mono' : ''} title={id}>
      {label}
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
        {label}
      </SessionLink>
    )
  if (type === 'commit')
    return (
      <Link to={paths.commit} params={{ project: slug, sha: id }} className={`font-mono ${linkClass}`} title={id}>
        {shortCommit(id)}
      </Link>
    )
  const page = pageOf[type]
  if (page === undefined) return plain
  return (
    <Link
      to={page}
      params={{ project: slug }}
      className={known === null ? `font-mono ${linkClass}` : linkClass}
      title={id}
    >
      {label}
    </Link>
  )
}

const named = `inline-block max-w-full truncate align-bottom ${linkClass}`
const isUuid = /^[0-9a-f-]{36}$/

function projectOf({ project_id: id }: AuditEvent, projects: readonly Project[]): Project | undefined {
  return projects.find(({ project_id }) => project_id === id)
}
