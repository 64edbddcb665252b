import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { ApiError } from '../../api.ts'
import { paths } from '../../paths.ts'
import { project } from '../../pages/projects/queries.ts'
import { useTitle } from '../../ui/title.ts'
import { QueryResult } from '../requests.tsx'
import { ProjectEvents } from '../../cache/project-events.tsx'

const route = getRouteApi('/shell/projects/$project')

/** The project in the address. Every page under `/projects/$project` renders only once it is loaded. */
export function useProject() {
  const { project: name } = route.useParams()
  const { data } = useQuery(project(name))
  if (data === undefined) throw new Error('A project page rendered before its project was loaded.')
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
  const tabs = useRef<HTMLElement>(null)
  const isLoaded = found.data !== undefined
  const here = pages.find(([to]) => pathname === to.replace('$project', name))
  useTitle(here !== undefined && found.data !== undefined ? `${here[1]} · ${found.data.name}` : null)
  // On a narrow screen the current tab may be scrolled out of view.
  useEffect(() => {
    const nav = tabs.current
    const shown = nav?.querySelector<HTMLElement>('[aria-current=page]')
    if (nav != null && shown != null) nav.scrollLeft = shown.offsetLeft - (nav.clientWidth - shown.offsetWidth) / 2
  }, [pathname, isLoaded])
  if (found.error instanceof ApiError && found.error.code === 'not_found') return <NoProject error={found.error} />
  return (
    <QueryResult of={found} what="the project">
      {(shown) => (
        <>
          <ProjectEvents projectIds={[shown.project_id]} />
          <div className="mb-6 border-b border-line">
            <p className="flex flex-wrap items-baseline gap-x-3">
              <Link to={paths.changeRequests} params={{ project: name }} className="text-lg font-semibold">
                {shown.name}
              </Link>
              <span className="text-sm text-dim">
                {shown.managed ? 'managed repository' : shown.repo_url} · {shown.default_branch}
              </span>
            </p>
            <nav ref={tabs} aria-label="Project" className="relative -mb-px flex gap-1 overflow-x-auto">
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
    </QueryResult>
  )
}

function NoProject({ error }: { error: ApiError }) {
  return (
    <>
      <h1 className="text-xl font-semibold break-words">{error.message}</h1>
      <p className="mt-2 text-dim">
        <Link to={paths.projects} className="text-accent underline">
          See your projects
        </Link>
      </p>
    </>
  )
}
