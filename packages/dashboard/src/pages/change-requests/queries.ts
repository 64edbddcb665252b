import { queryOptions } from '@tanstack/react-query'
import { ApiError, get, getPage, type Reply } from '../../api.ts'
import { fetchingMs, isFetching, liveMs } from '../../cache/query-client.ts'
import { type DiffOptions, requests } from '../../prefetch/requests.ts'

type OneChangeRequest = '/v1/projects/{projectId}/change-requests/{crId}'
export type ChangeRequest = Reply<OneChangeRequest>['change_request']
export type Diff = Reply<`${OneChangeRequest}/diff`>
export type MergePreview = Reply<`${OneChangeRequest}/merge-preview`>
export type Effects = NonNullable<MergePreview['effects']>
export type Checks = Reply<`${OneChangeRequest}/checks`>
export type Review = Reply<`${OneChangeRequest}/reviews`>['reviews'][number]
export type ListedStatus = ChangeRequest['status'] | 'all'

const list = '/v1/projects/{projectId}/change-requests'

export const changeRequests = (projectId: string, status: ListedStatus) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status],
    queryFn: ({ signal }) => get(list, { path: { projectId }, query: { status, limit: 100 } }, signal),
    refetchInterval: liveMs,
    select: ({ change_requests }) => change_requests,
  })

/** The change requests that propose this branch. */
export const changeRequestsOfBranch = (projectId: string, branch: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', 'of-branch', branch],
    queryFn: ({ signal }) => get(list, { path: { projectId }, query: { head_ref: branch } }, signal),
    refetchInterval: liveMs,
    select: ({ change_requests }) => change_requests,
  })

/** One page of the list, from the newest or from `cursor` on. */
export const changeRequestPage = (
  projectId: string,
  { status, search, cursor }: { status: ListedStatus; search: string; cursor: string | null },
) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status, search, cursor],
    queryFn: ({ signal }) =>
      getPage(list, { path: { projectId }, query: { status, limit: 100, search: search || null, cursor } }, signal),
    refetchInterval: liveMs,
  })

/** By its number. */
export const changeRequest = (projectId: string, number: number) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', number],
    queryFn: async ({ signal }) => {
      const { change_requests } = await get(...requests.changeRequest(projectId, number), signal)
      const found = change_requests[0]
      if (found === undefined)
        throw new ApiError(404, { error: `This project has no change request #${number}.`, code: 'not_found' })
      return found
    },
    refetchInterval: liveMs,
  })

export const mergePreview = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'preview'],
    queryFn: ({ signal }) =>
      get(`${list}/{crId}/merge-preview`, { path: { projectId, crId }, query: { include: 'collisions' } }, signal),
    refetchInterval: ({ state }) => (isFetching(state.error) ? fetchingMs : liveMs),
  })

/** Refetched only when one of the two commits changes. */
export const mergeability = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'mergeability', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) => get(`${list}/{crId}/merge-preview`, { path: { projectId, crId: cr.cr_id } }, signal),
    staleTime: Infinity,
  })

export const effects = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'effects', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) =>
      get(
        `${list}/{crId}/merge-preview`,
        {
          path: { projectId, crId: cr.cr_id },
          query: { include: 'effects' },
        },
        signal,
      ),
    select: ({ effects }) => effects,
    enabled: cr.status === 'open',
  })

/** Events report the start and end of a check, but not its output. */
const checkMs = 3_000

export const checks = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'checks', crId],
    queryFn: ({ signal }) => get(`${list}/{crId}/checks`, { path: { projectId, crId } }, signal),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? checkMs : liveMs),
  })

export const checkLog = (log: { projectId: string; crId: string; runId: string; isOver: boolean }) =>
  queryOptions({
    queryKey: ['project', log.projectId, 'checks', log.crId, 'log', log.runId, log.isOver],
    queryFn: ({ signal }) =>
      get(
        `${list}/{crId}/checks/{runId}/log`,
        {
          path: { projectId: log.projectId, crId: log.crId, runId: log.runId },
          query: { lines: 500 },
        },
        signal,
      ),
    refetchInterval: log.isOver ? false : checkMs,
  })

/** Refetched only when one of the two commits changes. */
export const diff = (projectId: string, cr: ChangeRequest, options: DiffOptions) =>
  queryOptions({
    queryKey: ['project', projectId, 'diff', cr.cr_id, cr.base_commit_sha, cr.head_commit_sha, options],
    queryFn: ({ signal }) => get(...requests.diff(projectId, cr.cr_id, options), signal),
    staleTime: Infinity,
  })

export const reviews = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'reviews'],
    queryFn: ({ signal }) => get(`${list}/{crId}/reviews`, { path: { projectId, crId } }, signal),
    select: ({ reviews }) => reviews,
    refetchInterval: liveMs,
  })

/** The commits of the head that the base does not have, newest first. */
export const commitsOf = (projectId: string, cr: ChangeRequest) =>
  queryOptions({
    queryKey: ['project', projectId, 'commits', cr.base_commit_sha, cr.head_commit_sha],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/compare',
        {
          path: { projectId },
          query: { base: cr.base_commit_sha ?? '', head: cr.head_commit_sha ?? '' },
        },
        signal,
      ),
    enabled: cr.base_commit_sha !== null && cr.head_commit_sha !== null,
    staleTime: Infinity,
  })

/** No event reports a pull request on the git host. */
export const pullRequest = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'pull-request'],
    queryFn: ({ signal }) => get(`${list}/{crId}/pull-request`, { path: { projectId, crId } }, signal),
    refetchInterval: liveMs,
  })
