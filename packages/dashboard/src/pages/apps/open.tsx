import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { get } from '../../api.ts'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { Loading } from '../../ui/layout.tsx'

/** An app redirects unknown browsers here. This page gets a ticket and redirects back. */
export function OpenAppPage() {
  const { project_id: projectId } = useProject()
  const { slug } = useParams({ from: `/shell${paths.openApp}` })
  const { path = '/' } = useSearch({ from: `/shell${paths.openApp}` })
  const ticket = useQuery({
    queryKey: ['project', projectId, 'apps', slug, 'ticket'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/apps/{slug}/open', { path: { projectId, slug } }, signal),
    // A ticket works once.
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
  })
  useEffect(() => {
    if (ticket.data === undefined) return
    const to = new URL(ticket.data.url)
    const target = new URL(path, to.origin)
    for (const [name, value] of target.searchParams) to.searchParams.append(name, value)
    if (target.origin === to.origin) to.pathname = target.pathname
    window.location.replace(to.href)
  }, [ticket.data, path])
  if (ticket.error !== null) return <Failure error={ticket.error} />
  return <Loading what={slug} />
}
