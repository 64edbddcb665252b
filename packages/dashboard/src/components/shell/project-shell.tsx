import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useLocation } from '@tanstack/react-router'
import { isNotFound } from '../../api.ts'
import { paths } from '../../paths.ts'
import { project } from '../../pages/projects/queries.ts'
import { useTitle } from '../../ui/title.ts'
import { NoSuch } from '../no-such.tsx'
import { QueryResult } from '../requests.tsx'
import { ProjectEvents } from '../../cache/project-events.tsx'
import { PendingPage } from './pending.tsx'
import { projectPages } from './rooms.ts'

const route = getRouteApi('/shell/projects/$project')

/** The project in the address. Every page under `/projects/$project` renders only once it is loaded. */
export function useProject() {
  const { project: name } = route.useParams()
  const { data } = useQuery(project(name))
  if (data === undefined) throw new Error('A project page rendered before its project was loaded.')
  return data
}

export function ProjectShell() {
  const { project: name } = route.useParams()
  const found = useQuery(project(name))
  const { pathname } = useLocation()
  const here = projectPages.find(({ to }) => pathname === to.replace('$project', name))
  useTitle(here !== undefined && found.data !== undefined ? `${here.label} · ${found.data.name}` : null)
  if (isNotFound(found.error))
    return (
      <NoSuch
        title={found.error.message}
        link={
          <Link to={paths.projects} className="text-accent underline">
            See your projects
          </Link>
        }
      />
    )
  if (found.isPending) return <PendingPage what="the project" />
  return (
    <QueryResult of={found} what="the project">
      {(shown) => (
        <>
          <ProjectEvents projectIds={[shown.project_id]} />
          <Outlet />
        </>
      )}
    </QueryResult>
  )
}
