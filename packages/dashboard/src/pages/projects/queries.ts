import { queryOptions } from '@tanstack/react-query'
import { ApiError, get, type Reply } from '../../api.ts'
import { requests } from '../../prefetch/requests.ts'
import { findProject } from './find-project.ts'

export type Project = Reply<'/v1/projects'>[number]

export const projects = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => get(...requests.projects(), signal),
})

export const deletedProjects = queryOptions({
  queryKey: ['projects', 'deleted'],
  queryFn: ({ signal }) => get('/v1/projects', { query: { limit: 1000, deleted: 'true' } }, signal),
})

/** By slug or id. */
export const project = (name: string) => queryOptions({ ...projects, select: projectNamed(name) })

export const projectNamed =
  (name: string) =>
  (all: Project[]): Project => {
    const found = findProject(all, name)
    if (found !== undefined) return found
    throw new ApiError(404, {
      error: `Project ${name} doesn't exist, or you don't have access to it.`,
      code: 'not_found',
    })
  }

export const secrets = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'secrets'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/secrets', { path: { projectId } }, signal),
  })

export const branches = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'branches'],
    queryFn: ({ signal }) =>
      get('/v1/projects/{projectId}/branches', { path: { projectId }, query: { limit: 1000 } }, signal),
  })

export const projectTokens = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'tokens'],
    queryFn: ({ signal }) =>
      get('/v1/projects/{projectId}/cli-token', { path: { projectId }, query: { limit: 1000 } }, signal),
  })

/** The effects of deleting the project. */
export const deletion = (projectId: string) =>
  queryOptions({
    queryKey: ['projects', projectId, 'deletion'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/deletion', { path: { projectId } }, signal),
  })
