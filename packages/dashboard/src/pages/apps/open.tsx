import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { api, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { Loading } from '../../ui/loading.tsx'

/** An app's address sends a browser here that it does not know. With a ticket it goes back there. */
export function OpenAppPage() {
  const { project_id: projectId } = useProject()
  const { slug } = useParams({ from: `/shell${paths.openApp}` })
  const { path = '/' } = useSearch({ from: `/shell${paths.openApp}` })
  const ticket = useQuery({
    queryKey: ['project', projectId, 'apps', slug, 'ticket'],
    queryFn: () =>
      reply(api.GET('/v1/projects/{projectId}/apps/{slug}/open', { params: { path: { projectId, slug } } })),
    // It works once.
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
  })
  useEffect(() => {
    if (ticket.data === undefined) return
    const to = new URL(ticket.data.url)
    const wanted = new URL(path, to.origin)
    for (const [name, value] of wanted.searchParams) to.searchParams.append(name, value)
    if (wanted.origin === to.origin) to.pathname = wanted.pathname
    window.location.replace(to.href)
  }, [ticket.data, path])
  if (ticket.error !== null) return <Failure error={ticket.error} />
  return <Loading what={slug} />
}
