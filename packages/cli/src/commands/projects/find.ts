import type { Project } from '@svc/sdk'
import { findOne, matching, uuid } from '../../arguments/find-one.ts'
import type { Context } from '../../context.ts'
import { allPages } from '../../pages.ts'
import { closest } from '@svc/contract/schemas/closest'
import type { Client } from '../../requests.ts'

export async function resolveProjectId(api: Client, named: string): Promise<string> {
  return uuid.test(named) ? named.toLowerCase() : (await findBySlug(api, named)).project_id
}

export async function resolveProject(api: Client, named: string): Promise<Project> {
  return uuid.test(named) ? api.project(named).get('') : findBySlug(api, named)
}

/** The named project, otherwise the chosen one. */
export async function projectNamed(ctx: Context, named: string | undefined): Promise<Project> {
  return named === undefined ? ctx.project.get('') : resolveProject(ctx.api, named)
}

/** A deleted project by its id or former slug; null when the caller can restore none. */
export async function findDeleted(api: Client, named: string): Promise<Project | null> {
  const all = await allProjects(api, { deleted: true })
  return matching(all, named, kindOf(named)).length === 0 ? null : findOne(all, named, kindOf(named))
}

export function allProjects(api: Client, { deleted = false } = {}): Promise<Project[]> {
  return allPages((query) => api.page('/v1/projects', { query: { ...query, deleted: deleted ? 'true' : undefined } }))
}

async function findBySlug(api: Client, slug: string): Promise<Project> {
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
