import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { ApiError, get, getPage, type Reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'
import { live, read } from '../../cache/read.ts'
import type { Project } from '../projects/queries.ts'

const one = '/v1/projects/{projectId}/sessions/{sessionId}'
export type Session = Reply<typeof one>
export type Message = Reply<`${typeof one}/transcript`>['messages'][number]

export type Prompt = Reply<`${typeof one}/prompts`>['prompts'][number]
export type Changes = Reply<`${typeof one}/changes`>

const all = '/v1/projects/{projectId}/sessions'

export const sessions = (projectId: string) =>
  read(
    ['project', projectId, 'sessions'],
    all,
    { path: { projectId }, query: { include: 'activity', limit: 100 } },
    live,
  )

export const sessionPage = (projectId: string, cursor: string | null) =>
  queryOptions({
    ...live,
    queryKey: ['project', projectId, 'sessions', 'page', cursor],
    queryFn: ({ signal }) =>
      getPage(all, { path: { projectId }, query: { include: 'activity', limit: 50, cursor } }, signal),
  })

export const session = (projectId: string, sessionId: string) =>
  read(
    ['project', projectId, 'sessions', sessionId],
    one,
    { path: { projectId, sessionId }, query: { include: 'activity' } },
    live,
  )

export const sandboxReadiness = read(
  ['ready'],
  '/v1/ready',
  {},
  { staleTime: 60_000, select: ({ sandbox }) => sandbox },
)

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

/** The parameters of the paths of its routes. */
export const pathOf = ({ project_id: projectId, session_id: sessionId }: Session) => ({ projectId, sessionId })

const keyOf = ({ project_id, session_id }: Session) => ['project', project_id, 'sessions', session_id]

/** Refetched when the session's status changes, and while it starts. A refresh and a wake of the agent add a step. */
export const timeline = (session: Session) =>
  read(
    [...keyOf(session), 'timeline', session.status, session.refresh?.settled_at ?? null, session.asleep_since ?? null],
    `${one}/timeline`,
    { path: pathOf(session) },
    { refetchInterval: session.status === 'provisioning' ? 1_000 : false },
  )

/** Oldest first. `delivered` changes with each prompt that leaves the queue. */
export const waitingPrompts = (session: Session, delivered: number) =>
  queryOptions({
    // A later start or wake begins without the prompts of this one.
    queryKey: [...keyOf(session), 'prompts', session.status, session.asleep_since ?? null, delivered],
    queryFn: ({ signal }) =>
      get(`${one}/prompts`, { path: pathOf(session), query: { limit: 100, status: 'accepted' } }, signal),
    select: ({ prompts }) => prompts.toReversed(),
    placeholderData: keepPreviousData,
    refetchInterval: 1_000,
  })

/** The outcomes of prompts that wait no longer and that no message names yet. */
export const promptOutcomes = (session: Session, ids: readonly string[]) =>
  queryOptions({
    queryKey: [...keyOf(session), 'prompt-outcomes', ...ids],
    queryFn: ({ signal }) => get(`${one}/prompts`, { path: pathOf(session), query: { limit: 20 } }, signal),
    select: ({ prompts }) => prompts.filter(({ prompt_id: id }) => ids.includes(id)),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => (isSettled(data?.prompts ?? [], ids) ? false : 1_000),
  })

/** No message will name a prompt that failed or was cancelled. */
const isSettled = (prompts: readonly Prompt[], ids: readonly string[]) =>
  ids.every((id) => prompts.some((each) => each.prompt_id === id && /^(failed|cancelled)$/.test(each.status)))

/** The newest answers of people. Events of the session refetch them. */
export const answeredQuestions = (session: Session) =>
  read(
    [...keyOf(session), 'answers'],
    `${one}/questions`,
    { path: pathOf(session), query: { limit: 200, status: 'answered' } },
    { select: ({ questions }) => questions },
  )

/** Below this key are the prompts that wait. */
export const promptsKey = (session: Session) => [...keyOf(session), 'prompts']

const promptsMax = { limit: 100 }

/** Oldest first. */
export const allPrompts = (session: Session) =>
  read(
    [...keyOf(session), 'all-prompts', session.status],
    `${one}/prompts`,
    { path: pathOf(session), query: promptsMax },
    { select: ({ prompts }) => prompts.toReversed() },
  )

/** Newest first. `sent` changes with each prompt. */
export const newestPrompts = (session: Session, sent: number) =>
  read(
    ['prompts-of', session.session_id, sent],
    `${one}/prompts`,
    { path: pathOf(session), query: promptsMax },
    { staleTime: Infinity, placeholderData: keepPreviousData, enabled: sent > 0, select: ({ prompts }) => prompts },
  )

const busyMs = 5_000

/** Refetched often while the agent works, and when its turn ends. */
export const changes = (session: Session, busy: boolean) =>
  read(
    [...keyOf(session), 'changes', session.status, busy],
    `${one}/changes`,
    { path: pathOf(session) },
    { placeholderData: keepPreviousData, refetchInterval: busy ? busyMs : liveMs },
  )

export const changesWithPatch = (session: Session) =>
  read([...keyOf(session), 'patch'], `${one}/changes`, { path: pathOf(session), query: { include: 'patch' } })

export type Usage = Reply<`${typeof one}/usage`>

export const usage = (session: Session, busy: boolean) =>
  read(
    [...keyOf(session), 'usage', busy],
    `${one}/usage`,
    { path: pathOf(session), query: { days: 90 } },
    { placeholderData: keepPreviousData, refetchInterval: busy ? 2 * busyMs : false },
  )

export type UnfinishedWork = Reply<`${typeof one}/wip`>

export const unfinishedWork = (session: Session) =>
  read([...keyOf(session), 'unfinished-work'], `${one}/wip`, { path: pathOf(session) }, { refetchInterval: 15_000 })

export type Ports = Reply<`${typeof one}/ports`>

/** Read often, so that a program appears when it starts to listen. */
export const ports = (session: Session) =>
  read(
    [...keyOf(session), 'ports', session.status],
    `${one}/ports`,
    { path: pathOf(session) },
    { refetchInterval: 2_000 },
  )

/** A URL that works once. `visit` is another one each time. Its key is not below its project: events must not replace it. */
export const previewTicket = (session: Session, port: number, visit: string) =>
  read(
    ['preview', session.session_id, port, visit],
    `${one}/preview`,
    { path: pathOf(session), query: { port } },
    { staleTime: Infinity, gcTime: 0 },
  )

export const openPreview = (session: Session, port: number) =>
  get(`${one}/preview`, { path: pathOf(session), query: { port } }, AbortSignal.timeout(30_000))

const builtInAgents = ['build', 'plan']

export const agents = ({ project_id: projectId, config_dir, default_branch }: Project) =>
  queryOptions({
    queryKey: ['project', projectId, 'agents'],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/tree',
        { path: { projectId }, query: { ref: default_branch, path: `${config_dir}/agents` } },
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
