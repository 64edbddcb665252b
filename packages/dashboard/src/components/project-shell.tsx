import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { ApiError } from '../api.ts'
import { paths } from '../paths.ts'
import { project } from '../queries.ts'
import { useTitle } from '../ui/title.ts'
import { Answer } from './answer.tsx'
import { Live } from './live.tsx'

const route = getRouteApi('/shell/projects/$project')

/** The project of the address, which a page under `/projects/$project` may count on. */
export function useProject() {
  const { project: name } = route.useParams()
  const { data } = useQuery(project(name))
  if (data === undefined) throw new Error('A page of a project is shown before its project is known.')
  return data
}

const pages = [
  [paths.changeRequests, 'Change requests'],
  [paths.sessions, 'Sessions'],
  [paths.branches, 'Branches'],
  [paths.triggers, 'Triggers'],
  [paths.connectors, 'Connectors'],
  [paths.channels, 'Channels'],
  [paths.apps, 'Apps'],
  [paths.secrets, 'Secrets'],
  [paths.projectTokens, 'Tokens'],
  [paths.webhooks, 'Webhooks'],
  [paths.projectUsage, 'Usage'],
  [paths.settings, 'Settings'],
] as const

export function ProjectShell() {
  const { project: name } = route.useParams()
  const found = useQuery(project(name))
  const { pathname } = useLocation()
  const places = useRef<HTMLElement>(null)
  const isThere = found.data !== undefined
  const here = pages.find(([to]) => pathname === to.replace('$project', name))
  useTitle(here !== undefined && found.data !== undefined ? `${here[1]} · ${found.data.name}` : null)
  // On a narrow screen the place one is at may be out of sight, further along.
  useEffect(() => {
    const nav = places.current
    const shown = nav?.querySelector<HTMLElement>('[aria-current=page]')
    if (nav != null && shown != null) nav.scrollLeft = shown.offsetLeft - (nav.clientWidth - shown.offsetWidth) / 2
  }, [pathname, isThere])
  if (found.error instanceof ApiError && found.error.code === 'not_found') return <NoProject error={found.error} />
  return (
    <Answer of={found} what="the project">
      {(shown) => (
        <>
          <Live projectIds={[shown.project_id]} />
          <div className="mb-6 border-b border-line">
            <p className="flex flex-wrap items-baseline gap-x-3">
              <Link to={paths.changeRequests} params={{ project: name }} className="text-lg font-semibold">
                {shown.name}
              </Link>
              <span className="text-sm text-dim">
                {shown.managed ? 'managed repository' : shown.repo_url} · {shown.default_branch}
              </span>
            </p>
            <nav ref={places} aria-label="Project" className="relative -mb-px flex gap-1 overflow-x-auto">
              {pages.map(([to, label]) => (
                <Link
                  key={to}
                  to={to}
                  params={{ project: name }}
                  className="border-b-2 border-transparent px-2.5 py-2 text-sm whitespace-nowrap text-dim hover:text-text"
                  activeProps={{ className: 'border-accent! text-text!', 'aria-current': 'page' }}
                >
                  {label}
                </Link>
              ))}
            </nav>
          </div>
          <Outlet />
        </>
      )}
    </Answer>
  )
}

function NoProject({ error }: { error: ApiError }) {
  return (
    <>
      <h1 className="text-xl font-semibold break-words">{error.message}</h1>
      <p className="mt-2 text-dim">
        <Link to={paths.projects} className="text-accent underline">
          Projects
        </Link>{' '}
        lists those you may see.
      </p>
    </>
  )
}
