import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { findProject } from '../../pages/projects/find-project.ts'
import { type Project, projects } from '../../pages/projects/queries.ts'
import { session } from '../../pages/sessions/queries.ts'
import { paths } from '../../paths.ts'
import { useRole } from '../role.ts'
import { firstPage } from './rooms.ts'

/** The way to this page by names. The page's own heading follows it, if the page puts it into the bar. */
export function Breadcrumbs() {
  const { project: name } = useParams({ strict: false })
  const { data: all = [] } = useQuery({ ...projects, enabled: name !== undefined })
  const project = name === undefined ? undefined : findProject(all, name)
  if (project === undefined) return null
  return <InProject {...project} />
}

/** The pages below a session. */
const parts: Partial<Record<string, string>> = { terminal: 'Terminal', files: 'Files' }

function InProject({ project_id: projectId, account_id: accountId, slug, name }: Project) {
  const role = useRole(accountId)
  const { number, sessionId, slug: app } = useParams({ strict: false })
  const { pathname } = useLocation()
  const to = { project: slug }
  const part = sessionId === undefined ? undefined : parts[pathname.split('/').at(-1) ?? '']
  const crumbs: ReactNode[] = [
    <Link to={firstPage(role)} params={to} className={linkClass}>
      {name}
    </Link>,
  ]
  if (number !== undefined || pathname.endsWith('/change-requests/new'))
    crumbs.push(
      <Link to={paths.changeRequests} params={to} className={linkClass}>
        Change requests
      </Link>,
    )
  if (number !== undefined) crumbs.push(<Here>#{number}</Here>)
  if (sessionId !== undefined) {
    crumbs.push(
      <Link to={paths.sessions} params={to} className={linkClass}>
        Sessions
      </Link>,
    )
    if (part !== undefined)
      crumbs.push(
        <SessionName key={sessionId} projectId={projectId} slug={slug} sessionId={sessionId} />,
        <Here>{part}</Here>,
      )
  }
  if (app !== undefined)
    crumbs.push(
      <Link to={paths.apps} params={to} className={linkClass}>
        Apps
      </Link>,
      <Here>{app}</Here>,
    )
  const hasHeading = number === undefined && part === undefined && app === undefined
  return (
    <nav aria-label="Breadcrumbs" className={`min-w-0 ${hasHeading ? hiddenOn(sessionId !== undefined) : ''}`}>
      <ol className="flex min-w-0 items-center text-sm text-faint">
        {crumbs.map((crumb, at) => (
          <li key={at} className={`flex min-w-0 items-center ${at === 0 ? 'max-sm:hidden' : ''}`}>
            {at > 0 && <Slash isHiddenOnPhone={at === 1} />}
            {crumb}
          </li>
        ))}
        {hasHeading && (
          <li aria-hidden>
            <Slash />
          </li>
        )}
      </ol>
    </nav>
  )
}

/** The sidebar names the project and the page as well, and the actions of a session need the room. */
const hiddenOn = (isSession: boolean) => (isSession ? 'max-lg:hidden' : 'max-sm:hidden')

function Slash({ isHiddenOnPhone = false }: { isHiddenOnPhone?: boolean }) {
  return (
    <span aria-hidden className={`px-1.5 ${isHiddenOnPhone ? 'max-sm:hidden' : ''}`}>
      /
    </span>
  )
}

const linkClass = 'max-w-48 truncate hover:text-text'

function Here({ children }: { children: ReactNode }) {
  return (
    <span aria-current="page" className="truncate font-semibold text-text">
      {children}
    </span>
  )
}

/** The page loads the session. */
function SessionName({ projectId, slug, sessionId }: { projectId: string; slug: string; sessionId: string }) {
  const { data } = useQuery({ ...session(projectId, sessionId), enabled: false })
  const name = data?.name ?? 'Session'
  return (
    <Link to={paths.session} params={{ project: slug, sessionId }} className={linkClass}>
      {name}
    </Link>
  )
}
