import { queryOptions } from '@tanstack/react-query'
import { ApiError, get, getPage, type Reply } from '../../api.ts'
import { fetchingMs, isFetching, isServerHeld, liveMs } from '../../cache/query-client.ts'
import { live, read } from '../../cache/read.ts'
import { type ArrivingDiff, readDiff } from './diff/arriving.ts'
import { type DiffOptions, requests } from '../../prefetch/requests.ts'

type OneChangeRequest = '/v1/projects/{projectId}/change-requests/{crId}'
export type ChangeRequest = Reply<OneChangeRequest>['change_request']
export type Diff = ArrivingDiff
export type MergePreview = Reply<`${OneChangeRequest}/merge-preview`>
export type Effects = NonNullable<MergePreview['effects']>
export type PullRequest = Reply<`${OneChangeRequest}/pull-request`>
export type Checks = Reply<`${OneChangeRequest}/checks`>
export type ReadingGuide = Reply<`${OneChangeRequest}/reading-guide`>
export type Review = Reply<`${OneChangeRequest}/reviews`>['reviews'][number]
export type Thread = Review['comments'][number]
export type ReviewState = Reply<`${OneChangeRequest}/review-state`>
export type Origins = Reply<`${OneChangeRequest}/origins`>
export type LineOrigin = Origins['lines'][number]
export type Version = Reply<`${OneChangeRequest}/versions`>['versions'][number]
export type Answered = Reply<'/v1/projects/{projectId}/change-requests'>
export type Summary = NonNullable<Answered['summaries']>[string]
export type LandingState = NonNullable<Summary['state']>
export type EffectDetail = Effects['details'][number]
export type ListedStatus = ChangeRequest['status'] | 'all'

const list = '/v1/projects/{projectId}/change-requests'

export const changeRequests = (projectId: string, status: ListedStatus) =>
  read(
    ['project', projectId, 'change-requests', status],
    list,
    { path: { projectId }, query: { status, limit: 100 } },
    { ...live, select: ({ change_requests }) => change_requests },
  )

export const changeRequestsOfBranch = (projectId: string, branch: string) =>
  read(
    ['project', projectId, 'change-requests', 'of-branch', branch],
    list,
    { path: { projectId }, query: { head_ref: branch } },
    { ...live, select: ({ change_requests }) => change_requests },
  )

/** With what a list shows of each. */
export const summariesOfBranch = (projectId: string, branch: string) =>
  read(
    ['project', projectId, 'change-requests', 'of-branch', branch, 'summary'],
    list,
    { path: { projectId }, query: { head_ref: branch, include: 'summary' } },
    { refetchInterval: ({ state }) => summaryMs(state.data) },
  )

export type ListSort = 'newest' | 'updated' | 'ready'

export interface ListFilter {
  status: ListedStatus
  search: string
  sort: ListSort
  /** The id of the user who opened them. */
  author: string | null
}

/** The server computes missing facts in the background, and no event reports them. */
const factsMs = 2_000

const summaryMs = (answer: Answered | undefined) =>
  !isServerHeld() &&
  Object.values(answer?.summaries ?? {}).some((each) => each.state === 'checking' && each.conflict_count === null)
    ? factsMs
    : liveMs

/** One page of the list with the summary of each row, from the first or from `cursor` on. */
export const changeRequestPage = (
  projectId: string,
  { status, search, sort, author, cursor }: ListFilter & { cursor: string | null },
) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status, search, sort, author, cursor],
    queryFn: ({ signal }) => {
      const filter = { status, search: search || null, created_by: author, sort: sort === 'newest' ? null : sort }
      const query = { ...filter, limit: 100, include: 'summary' as const, cursor }
      return getPage(list, { path: { projectId }, query }, signal)
    },
    refetchInterval: ({ state }) => summaryMs(state.data?.data),
  })

export const changeRequestAnswer = (projectId: string, number: number) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', number],
    queryFn: async ({ signal }) => {
      const answer = await get(...requests.changeRequest(projectId, number), signal)
      const cr = answer.change_requests[0]
      if (cr === undefined)
        throw new ApiError(404, { error: `This project has no change request #${number}.`, code: 'not_found' })
      return { cr, summary: answer.summaries?.[cr.cr_id] ?? null, answer }
    },
    refetchInterval: ({ state }) => summaryMs(state.data?.answer),
  })

/** The merge did not move the base, which had all commits already. */
export const addedNothing = ({ merge_commit_sha: merged, base_commit_sha: before }: ChangeRequest) =>
  merged !== null && merged === before

/** The parameters of the paths of its routes. */
export const pathOf = ({ project_id: projectId, cr_id: crId }: ChangeRequest) => ({ projectId, crId })

/** The key of what changes only with one of the two commits. */
const commitsKey = (what: string, { project_id, cr_id, base_commit_sha, head_commit_sha }: ChangeRequest) =>
  ['project', project_id, what, cr_id, base_commit_sha, head_commit_sha] as const

export const mergePreview = (cr: ChangeRequest) =>
  read(
    ['project', cr.project_id, 'change-request', cr.cr_id, 'preview'],
    `${list}/{crId}/merge-preview`,
    { path: pathOf(cr), query: { include: 'collisions' } },
    { refetchInterval: ({ state }) => (isFetching(state.error) ? fetchingMs : liveMs) },
  )

export const effects = (cr: ChangeRequest) =>
  read(
    commitsKey('effects', cr),
    `${list}/{crId}/merge-preview`,
    { path: pathOf(cr), query: { include: 'effects' } },
    { select: ({ effects }) => effects, enabled: cr.status === 'open' },
  )

/** Events report the start and end of a check, but not its output. */
const checkMs = 3_000

export const checks = (cr: ChangeRequest) =>
  read(
    ['project', cr.project_id, 'checks', cr.cr_id],
    `${list}/{crId}/checks`,
    { path: pathOf(cr) },
    { refetchInterval: ({ state }) => (state.data?.state === 'running' ? checkMs : liveMs) },
  )

export const checkLog = (cr: ChangeRequest, runId: string, isOver: boolean) =>
  read(
    ['project', cr.project_id, 'checks', cr.cr_id, 'log', runId, isOver],
    `${list}/{crId}/checks/{runId}/log`,
    { path: { ...pathOf(cr), runId }, query: { lines: 500 } },
    { refetchInterval: isOver ? false : checkMs },
  )

/** Its data grows while it is fetched. */
export const diff = (cr: ChangeRequest, options: DiffOptions) =>
  queryOptions({
    queryKey: [...commitsKey('diff', cr), options],
    queryFn: ({ client, queryKey, signal }) =>
      readDiff({ ...pathOf(cr), options, signal }, (part) => {
        // A repetition shows nothing less than the attempt before it.
        const before = client.getQueryData<Diff>(queryKey)
        if (!signal.aborted && (before?.patch.length ?? -1) < part.patch.length) client.setQueryData(queryKey, part)
      }),
    staleTime: Infinity,
  })

export const readingGuide = (cr: ChangeRequest, { since, to, ignoreWhitespace }: DiffOptions) =>
  read(
    [...commitsKey('reading-guide', cr), { since, to, ignoreWhitespace }],
    `${list}/{crId}/reading-guide`,
    { path: pathOf(cr), query: { renames: '1', since, to, ignore_whitespace: ignoreWhitespace ? '1' : null } },
    { staleTime: Infinity },
  )

/** How the changed lines of a file were written. */
export const origins = (cr: ChangeRequest, path: string) =>
  read(
    [...commitsKey('origins', cr), path],
    `${list}/{crId}/origins`,
    { path: pathOf(cr), query: { path } },
    { staleTime: 60_000, retry: false },
  )

export const reviews = (cr: ChangeRequest) =>
  read(
    ['project', cr.project_id, 'change-request', cr.cr_id, 'reviews'],
    `${list}/{crId}/reviews`,
    { path: pathOf(cr) },
    { ...live, select: ({ reviews }) => reviews },
  )

export const reviewState = (cr: ChangeRequest) =>
  read(
    ['project', cr.project_id, 'change-request', cr.cr_id, 'review-state'],
    `${list}/{crId}/review-state`,
    { path: pathOf(cr) },
    live,
  )

export const versions = (cr: ChangeRequest) =>
  read(
    [...commitsKey('versions', cr)],
    `${list}/{crId}/versions`,
    { path: pathOf(cr) },
    {
      select: ({ versions }) => versions,
    },
  )

/** The commits of the head that the base does not have, newest first. */
export const commitsOf = ({ project_id: projectId, base_commit_sha: base, head_commit_sha: head }: ChangeRequest) =>
  read(
    ['project', projectId, 'commits', base, head],
    '/v1/projects/{projectId}/compare',
    { path: { projectId }, query: { base: base ?? '', head: head ?? '' } },
    { enabled: base !== null && head !== null, staleTime: Infinity },
  )

/** No event reports a pull request on the git host. */
export const pullRequest = (cr: ChangeRequest) =>
  read(
    ['project', cr.project_id, 'change-request', cr.cr_id, 'pull-request'],
    `${list}/{crId}/pull-request`,
    { path: pathOf(cr) },
    live,
  )

/** The task of a session. */
export const firstPrompt = (projectId: string, sessionId: string) =>
  read(
    ['project', projectId, 'session', sessionId, 'first prompt'],
    '/v1/projects/{projectId}/sessions/{sessionId}/transcript',
    { path: { projectId, sessionId }, query: { from: 'start', limit: 5 } },
    {
      select: ({ messages }) => {
        const prompt = messages.find(({ role }) => role === 'user')
        const text = prompt?.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
        return prompt === undefined || !text ? null : { text, at: prompt.created_at }
      },
      // Deleting a session deletes its transcript.
      retry: false,
    },
  )
