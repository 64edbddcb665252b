import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { ApiError, get, getPage, type Reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'
import type { Project } from '../projects/queries.ts'

const one = '/v1/projects/{projectId}/sessions/{sessionId}'
export type Session = Reply<typeof one>
export type Message = Reply<`${typeof one}/transcript`>['messages'][number]

export const sessions = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions'],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/sessions',
        {
          path: { projectId },
          query: { include: 'activity', limit: 100 },
        },
        signal,
      ),
    refetchInterval: liveMs,
  })

export const sessionPage = (projectId: string, cursor: string | null) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', 'page', cursor],
    queryFn: ({ signal }) =>
      getPage(
        '/v1/projects/{projectId}/sessions',
        {
          path: { projectId },
          query: { include: 'activity', limit: 50, cursor },
        },
        signal,
      ),
    refetchInterval: liveMs,
  })

export const session = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId],
    queryFn: ({ signal }) => get(one, { path: { projectId, sessionId }, query: { include: 'activity' } }, signal),
    refetchInterval: liveMs,
  })

/** A conversation from its end to its beginning. Its key is not below its project: earlier messages do not change. */
export const transcriptPages = (projectId: string, sessionId: string) =>
  infiniteQueryOptions({
    queryKey: ['transcript', sessionId],
    queryFn: ({ signal, pageParam: cursor }) =>
      getPage(`${one}/transcript`, { path: { projectId, sessionId }, query: { limit: 100, cursor } }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    staleTime: Infinity,
    // A later visit starts at a later end, and there must be no gap between the two.
    gcTime: 0,
  })

/** Refetched when the session's status changes, and while it starts. `since` is its last refresh, which adds a step. */
export const timeline = (projectId: string, sessionId: string, status: string, since: string | null) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId, 'timeline', status, since],
    queryFn: ({ signal }) => get(`${one}/timeline`, { path: { projectId, sessionId } }, signal),
    refetchInterval: status === 'provisioning' ? 1_000 : false,
  })

export const unfinishedWork = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId, 'unfinished-work'],
    queryFn: ({ signal }) => get(`${one}/wip`, { path: { projectId, sessionId } }, signal),
    refetchInterval: 15_000,
  })

const builtInAgents = ['build', 'plan']

/** The agents that a session of the project can run. */
export const agents = ({ project_id: projectId, config_dir, default_branch }: Project) =>
  queryOptions({
    queryKey: ['project', projectId, 'agents'],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/tree',
        {
          path: { projectId },
          query: { ref: default_branch, path: `${config_dir}/agents` },
        },
        signal,
      ).catch((error: unknown) => {
        // Most projects have no folder of agents.
        if (error instanceof ApiError && error.code === 'not_found') return { entries: [] }
        throw error
      }),
    placeholderData: { entries: [] },
    select: ({ entries }) => {
      const own = entries.flatMap(({ type, name }) =>
        type === 'file' && name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : [],
      )
      return [...new Set([...builtInAgents, ...own])]
    },
  })
