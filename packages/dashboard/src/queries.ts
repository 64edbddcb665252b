/** What the pages ask of the service, with the keys under which answers are kept. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { chosenAccountId, withChosenAccount } from './account-choice.ts'
import { api, ApiError, reply, replyPage } from './api.ts'
import { fetchingMs, isFetching } from './query-client.ts'

export type Diff = operations['diffChangeRequest']['responses'][200]['content']['application/json']
export type MergePreview = operations['previewChangeRequest']['responses'][200]['content']['application/json']
export type Checks = operations['getChecks']['responses'][200]['content']['application/json']
export type Effects = NonNullable<MergePreview['effects']>
export type Project = operations['listProjects']['responses'][200]['content']['application/json'][number]
export type Session = operations['getSession']['responses'][200]['content']['application/json']
export type Message = operations['getTranscript']['responses'][200]['content']['application/json']['messages'][number]
export type Token = operations['listUserTokens']['responses'][200]['content']['application/json'][number]
export type AuditEvent = operations['listAudit']['responses'][200]['content']['application/json'][number]
export type Member = operations['listMembers']['responses'][200]['content']['application/json'][number]
export type Role = operations['changeRole']['responses'][200]['content']['application/json']['role']
export type App = operations['getApp']['responses'][200]['content']['application/json']
export type Trigger = operations['listTriggers']['responses'][200]['content']['application/json']['triggers'][number]
export type Channel = operations['listChannels']['responses'][200]['content']['application/json']['channels'][number]
export type ChatSetup = operations['listChannels']['responses'][200]['content']['application/json']['setup'][number]
export type ChannelDetail = operations['getChannel']['responses'][200]['content']['application/json']
export type Review = operations['listReviews']['responses'][200]['content']['application/json']['reviews'][number]
export type Commit = operations['listCommits']['responses'][200]['content']['application/json']['commits'][number]
export type ChangeRequest =
  operations['getChangeRequest']['responses'][200]['content']['application/json']['change_request']

/** Events say at once what moved (components/live.tsx); this is for what none tells, and for where none arrive. */
export const liveMs = 30_000

export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => withChosenAccount(await reply(api.GET('/v1/accounts/me', { signal }))),
  staleTime: 60_000,
})

export const signInMethods = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => reply(api.GET('/v1/sign-in', { signal })),
})

export const projects = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => reply(api.GET('/v1/projects', { params: { query: { limit: 1000 } }, signal })),
})

/** By slug or id. */
export const project = (name: string) =>
  queryOptions({
    ...projects,
    select: projectNamed(name),
  })

export const projectNamed =
  (name: string) =>
  (all: Project[]): Project => {
    const named = all.filter(({ slug, project_id }) => slug === name || project_id === name)
    // Two accounts may each have a project of this name.
    const found = named.find(({ account_id }) => account_id === chosenAccountId()) ?? named[0]
    if (found === undefined)
      throw new ApiError(404, {
        error: `There is no project ${name}, or you may not see it.`,
        code: 'not_found',
        hint: 'Projects lists those you may see.',
      })
    return found
  }

export const changeRequests = (projectId: string, status: 'open' | 'merged' | 'closed' | 'all') =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests', {
          params: { path: { projectId }, query: { status, limit: 100 } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
    select: ({ change_requests }) => change_requests,
  })

/** Those that propose this branch. */
export const changeRequestsOfBranch = (projectId: string, branch: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', 'of-branch', branch],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests', {
          params: { path: { projectId }, query: { head_ref: branch } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
    select: ({ change_requests }) => change_requests,
  })

/** One page of the list, from the newest or from where `cursor` says. */
export const changeRequestPage = (
  projectId: string,
  { status, search, cursor }: { status: 'open' | 'merged' | 'closed' | 'all'; search: string; cursor: string | null },
) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status, search, cursor],
    queryFn: ({ signal }) =>
      replyPage(
        api.GET('/v1/projects/{projectId}/change-requests', {
          params: {
            path: { projectId },
            query: {
              status,
              limit: 100,
              ...(search === '' ? {} : { search }),
              ...(cursor === null ? {} : { cursor }),
            },
          },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

export const sessionPage = (projectId: string, cursor: string | null) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', 'page', cursor],
    queryFn: ({ signal }) =>
      replyPage(
        api.GET('/v1/projects/{projectId}/sessions', {
          params: {
            path: { projectId },
            query: { include: 'activity', limit: 50, ...(cursor === null ? {} : { cursor }) },
          },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

export const sessions = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions', {
          params: { path: { projectId }, query: { include: 'activity', limit: 100 } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

export const mergePreview = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'preview'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/merge-preview', {
          params: { path: { projectId, crId }, query: { include: 'collisions' } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (isFetching(state.error) ? fetchingMs : liveMs),
  })

/** While one waits or runs, events tell of its begin and end; what it writes is looked at by the clock. */
const checkMs = 3_000

export const checks = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'checks', crId],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/checks', {
          params: { path: { projectId, crId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? checkMs : liveMs),
  })

export const checkLog = (log: { projectId: string; crId: string; runId: string; isOver: boolean }) =>
  queryOptions({
    queryKey: ['project', log.projectId, 'checks', log.crId, 'log', log.runId, log.isOver],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/checks/{runId}/log', {
          params: { path: { projectId: log.projectId, crId: log.crId, runId: log.runId }, query: { lines: 500 } },
          signal,
        }),
      ),
    refetchInterval: log.isOver ? false : checkMs,
  })

/** Whether it merges, asked again only when one of its two tips moved. */
export const mergeability = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'mergeability', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/merge-preview', {
          params: { path: { projectId, crId: cr.cr_id } },
          signal,
        }),
      ),
    staleTime: Infinity,
  })

/** By its number, as addresses and people name it. */
export const changeRequest = (projectId: string, number: number) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', number],
    queryFn: async ({ signal }) => {
      const { change_requests } = await reply(
        api.GET('/v1/projects/{projectId}/change-requests', {
          params: { path: { projectId }, query: { number } },
          signal,
        }),
      )
      const found = change_requests[0]
      if (found === undefined)
        throw new ApiError(404, { error: `There is no change request #${number} in this project.`, code: 'not_found' })
      return found
    },
    refetchInterval: liveMs,
  })

export const session = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}', {
          params: { path: { projectId, sessionId }, query: { include: 'activity' } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

/** A conversation from its end to its beginning. Not below its project: what was said before stays as it is. */
export const transcriptPages = (projectId: string, sessionId: string) =>
  infiniteQueryOptions({
    queryKey: ['transcript', sessionId],
    queryFn: ({ signal, pageParam }) =>
      replyPage(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}/transcript', {
          params: {
            path: { projectId, sessionId },
            query: { limit: 100, ...(pageParam === null ? {} : { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    staleTime: Infinity,
    // A later visit begins at a later end, and there must be no gap between the two.
    gcTime: 0,
  })

/** Asked again when the session's status moves, and while it starts. */
export const timeline = (projectId: string, sessionId: string, status: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId, 'timeline', status],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}/timeline', {
          params: { path: { projectId, sessionId } },
          signal,
        }),
      ),
    refetchInterval: status === 'provisioning' ? 1_000 : false,
  })

export const unfinishedWork = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions', sessionId, 'unfinished-work'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}/wip', {
          params: { path: { projectId, sessionId } },
          signal,
        }),
      ),
    refetchInterval: 15_000,
  })

/** Pure in its two commits, so it is asked again only when one of them moved. */
export const diff = (
  projectId: string,
  cr: ChangeRequest,
  { since, ignoreWhitespace }: { since: string | null; ignoreWhitespace: boolean },
) =>
  queryOptions({
    queryKey: ['project', projectId, 'diff', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha, since, ignoreWhitespace],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/diff', {
          params: {
            path: { projectId, crId: cr.cr_id },
            query: {
              renames: '1',
              ...(since === null ? {} : { since }),
              ...(ignoreWhitespace ? { ignore_whitespace: '1' as const } : {}),
            },
          },
          signal,
        }),
      ),
    staleTime: Infinity,
  })

export const reviews = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'reviews'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/reviews', {
          params: { path: { projectId, crId } },
          signal,
        }),
      ),
    select: ({ reviews }) => reviews,
    refetchInterval: liveMs,
  })

/** What the head has that the base has not, newest first. */
export const commitsOf = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'commits', cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/compare', {
          params: { path: { projectId }, query: { base: cr.base_commit_sha ?? '', head: cr.head_commit_sha ?? '' } },
          signal,
        }),
      ),
    enabled: cr.base_commit_sha !== null && cr.head_commit_sha !== null,
    staleTime: Infinity,
  })

export const secrets = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'secrets'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/secrets', { params: { path: { projectId } }, signal })),
  })

export const branches = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'branches'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/branches', {
          params: { path: { projectId }, query: { limit: 1000 } },
          signal,
        }),
      ),
  })

export const userTokens = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => reply(api.GET('/v1/accounts/tokens', { params: { query: { limit: 1000 } }, signal })),
})

export const projectTokens = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'tokens'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/cli-token', {
          params: { path: { projectId }, query: { limit: 1000 } },
          signal,
        }),
      ),
  })

export const members = (accountId: string) =>
  queryOptions({
    queryKey: ['account', accountId, 'members'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/accounts/{accountId}/members', {
          params: { path: { accountId }, query: { limit: 1000 } },
          signal,
        }),
      ),
  })

export const auditPages = (accountId: string, asked: { action?: string; member?: string; project?: string }) =>
  infiniteQueryOptions({
    queryKey: ['account', accountId, 'audit', asked],
    queryFn: ({ signal, pageParam }) =>
      replyPage(
        api.GET('/v1/accounts/{accountId}/audit', {
          params: {
            path: { accountId },
            query: {
              limit: 100,
              ...(asked.action === undefined ? {} : { action: asked.action }),
              ...(asked.member === undefined ? {} : { actor_user_id: asked.member }),
              ...(asked.project === undefined ? {} : { project_id: asked.project }),
              ...(pageParam === null ? {} : { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
  })

export const password = queryOptions({
  queryKey: ['password'],
  queryFn: ({ signal }) => reply(api.GET('/v1/accounts/password', { signal })),
})

export const dashboardSessions = queryOptions({
  queryKey: ['dashboard-sessions'],
  queryFn: ({ signal }) => reply(api.GET('/v1/accounts/dashboard-sessions', { signal })),
})

export const effects = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'effects', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/merge-preview', {
          params: { path: { projectId, crId: cr.cr_id }, query: { include: 'effects' } },
          signal,
        }),
      ),
    select: ({ effects }) => effects,
    enabled: cr.status === 'open',
  })

export const channels = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'channels'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/channels', { params: { path: { projectId } }, signal })),
    refetchInterval: liveMs,
  })

export const channel = (projectId: string, channelId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'channels', channelId],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/channels/{channelId}', {
          params: { path: { projectId, channelId } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

/** Whom a code of the chat app would link. Asking makes it ours alone, so it is asked once. */
export const linkCode = (code: string) =>
  queryOptions({
    queryKey: ['link-code', code],
    queryFn: ({ signal }) => reply(api.POST('/v1/channel-links/claim', { body: { code }, signal })),
    staleTime: Infinity,
    retry: false,
  })

export const apps = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'apps'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/apps', { params: { path: { projectId } }, signal })),
    refetchInterval: 2_000,
  })

export const appLog = (projectId: string, slug: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'apps', slug, 'log'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/apps/{slug}/logs', {
          params: { path: { projectId, slug }, query: { lines: 300 } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })
