import type { ApiClient } from '@svc/contract/api'
import type { Project } from '../../api-types.ts'
import { findOne, matching, uuid } from '../../arguments/find-one.ts'
import { reply, replyPage } from '../../api.ts'
import { allPages } from '../../pages.ts'
import { closest } from '@svc/contract/schemas/closest'

export async function resolveProjectId(api: ApiClient, named: string): Promise<string> {
  return uuid.test(named) ? named.toLowerCase() : (await findBySlug(api, named)).project_id
}

export async function resolveProject(api: ApiClient, named: string): Promise<Project> {
  return uuid.test(named) ? getProject(api, named) : findBySlug(api, named)
}

export function getProject(api: ApiClient, projectId: string): Promise<Project> {
  return reply(api.GET('/v1/projects/{projectId}', { params: { path: { projectId } } }))
}

/** A deleted project by its id or former slug; null when the caller can restore none. */
export async function findDeleted(api: ApiClient, named: string): Promise<Project | null> {
  const all = await allProjects(api, { deleted: true })
  return matching(all, named, kindOf(named)).length === 0 ? null : findOne(all, named, kindOf(named))
}

export function allProjects(api: ApiClient, { deleted = false } = {}): Promise<Project[]> {
  const which = deleted ? { deleted: 'true' as const } : {}
  return allPages((query) => replyPage(api.GET('/v1/projects', { params: { query: { ...query, ...which } } })))
}

async function findBySlug(api: ApiClient, slug: string): Promise<Project> {
  const projects = await allProjects(api)
  const slugs = projects.map((project) => project.slug)
  const meant = slugs.includes(slug) ? null : closest(slug, slugs)
  return findOne(projects, slug, { ...kindOf(slug), hint: meant === null ? undefined : `Did you mean ${meant}?` })
}

const kindOf = (slug: string) =>
  ({
    what: ['project', 'projects'],
    id: (project: Project) => project.project_id,
    isNamed: (project: Project) => project.slug === slug,
    next: ['svc projects ls'],
    wholeId: true,
  }) as const
