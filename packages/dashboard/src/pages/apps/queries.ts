import type { Reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'

export type App = Reply<'/v1/projects/{projectId}/apps/{slug}'>

export const apps = (projectId: string) =>
  read(
    ['project', projectId, 'apps'],
    '/v1/projects/{projectId}/apps',
    { path: { projectId } },
    { refetchInterval: 2_000 },
  )

export const appLog = (path: { projectId: string; slug: string }) =>
  read(
    ['project', path.projectId, 'apps', path.slug, 'log'],
    '/v1/projects/{projectId}/apps/{slug}/logs',
    { path, query: { lines: 300 } },
    live,
  )
