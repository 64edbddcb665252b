import { ApiError, type Reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'
import { requests } from '../../prefetch/requests.ts'
import { findProject } from './find-project.ts'

export type Project = Reply<'/v1/projects'>[number]

const all = { limit: 1000 }

export const projects = read(['projects'], ...requests.projects())

/** Below the inbox, so that its events refetch it. */
export const openWork = read(['inbox', 'projects'], '/v1/inbox/projects', {}, live)

export type OpenWork = Reply<'/v1/inbox/projects'>[number]

export const deletedProjects = read(['projects', 'deleted'], '/v1/projects', { query: { ...all, deleted: 'true' } })

export const project = (name: string) => ({ ...projects, select: projectNamed(name) })

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
  read(['project', projectId, 'secrets'], '/v1/projects/{projectId}/secrets', { path: { projectId } })

export const branches = (projectId: string) =>
  read(['project', projectId, 'branches'], '/v1/projects/{projectId}/branches', { path: { projectId }, query: all })

export const projectTokens = (projectId: string) =>
  read(['project', projectId, 'tokens'], '/v1/projects/{projectId}/cli-token', { path: { projectId }, query: all })

export type ProjectToken = Reply<'/v1/projects/{projectId}/cli-token'>[number]

export const deletion = (projectId: string) =>
  read(['projects', projectId, 'deletion'], '/v1/projects/{projectId}/deletion', { path: { projectId } })
