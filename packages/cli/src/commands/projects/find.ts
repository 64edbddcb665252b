import type { ApiClient } from '@svc/contract/api'
import type { Project } from '../../wire.ts'
import { reply, replyPage } from '../../api.ts'
import { Refusal } from '../../errors.ts'
import { closest } from '@svc/contract/closest'

const pageSize = 1000
const pagesMax = 20
export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** An id is taken at its word; a slug is looked up. */
export async function resolveProjectId(api: ApiClient, named: string): Promise<string> {
  return uuid.test(named) ? named.toLowerCase() : (await findBySlug(api, named)).project_id
}

export async function resolveProject(api: ApiClient, named: string): Promise<Project> {
  return uuid.test(named) ? getProject(api, named) : findBySlug(api, named)
}

export function getProject(api: ApiClient, projectId: string): Promise<Project> {
  return reply(api.GET('/v1/projects/{projectId}', { params: { path: { projectId } } }))
}

export async function allProjects(api: ApiClient): Promise<Project[]> {
  const found: Project[] = []
  let cursor: string | null = null
  for (let i = 0; i < pagesMax; i++) {
    const query: { limit: number; cursor?: string } = { limit: pageSize, ...(cursor === null ? {} : { cursor }) }
    const next: { data: Project[]; cursor: string | null } = await replyPage(
      api.GET('/v1/projects', { params: { query } }),
    )
    found.push(...next.data)
    cursor = next.cursor
    if (cursor === null) break
  }
  return found
}

async function findBySlug(api: ApiClient, slug: string): Promise<Project> {
  const projects = await allProjects(api)
  const found = projects.find((project) => project.slug === slug)
  if (found !== undefined) return found
  const meant = closest(
    slug,
    projects.map((project) => project.slug),
  )
  throw new Refusal('not_found', `There is no project ${JSON.stringify(slug)}`, {
    ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
    next: ['svc projects ls'],
  })
}
