import type { Reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'

export type Trigger = Reply<'/v1/projects/{projectId}/triggers'>['triggers'][number]

export const triggers = (projectId: string) =>
  read(['project', projectId, 'triggers'], '/v1/projects/{projectId}/triggers', { path: { projectId } }, live)

export const trigger = (path: { projectId: string; slug: string }) =>
  read(['project', path.projectId, 'triggers', path.slug], '/v1/projects/{projectId}/triggers/{slug}', { path }, live)
