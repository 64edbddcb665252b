/** The first requests of a change request's page, as both prefetch/script.ts and the page's queries send them. */
import type { paths } from '@svc/contract/api'

interface JsonReply {
  responses: { 200: { content: { 'application/json': unknown } } }
}
export type GetPath = { [P in keyof paths]: paths[P] extends { get: JsonReply } ? P : never }[keyof paths]
export type Reply<P extends GetPath> = paths[P] extends { get: infer Operation extends JsonReply }
  ? Operation['responses'][200]['content']['application/json']
  : never

type Operation<P extends GetPath> = paths[P] extends { get: { parameters: infer All } } ? All : never
/** A query parameter that is null or undefined is not sent. */
type Optional<T> = { [K in keyof T]: undefined extends T[K] ? T[K] | null | undefined : T[K] }
export type Params<P extends GetPath> = (Operation<P> extends { path: infer Path extends object }
  ? { path: Path }
  : { path?: never }) & { query?: Optional<NonNullable<Operation<P> extends { query?: infer Query } ? Query : never>> }

const request = <P extends GetPath>(path: P, params: Params<P>) => [path, params] as const

export interface DiffOptions {
  /** The commit from which on changes are shown; null shows all. */
  since: string | null
  /** The commit up to which they are shown; null is the current head. */
  to: string | null
  ignoreWhitespace: boolean
}

/** The media type of a diff in lines. */
export const diffType = 'application/x-ndjson'

export const requests = {
  me: () => request('/v1/accounts/me', {}),
  projects: () => request('/v1/projects', { query: { limit: 1000 } }),
  inbox: (view: 'open' | 'snoozed' | 'done', projectId: string | null, each: number) =>
    request('/v1/inbox', { query: { view, project_id: projectId, per_group: each } }),
  changeRequest: (projectId: string, number: number) =>
    request('/v1/projects/{projectId}/change-requests', {
      path: { projectId },
      query: { number, include: 'summary' },
    }),
  diff: (projectId: string, crId: string, { since, to, ignoreWhitespace }: DiffOptions) =>
    request('/v1/projects/{projectId}/change-requests/{crId}/diff', {
      path: { projectId, crId },
      query: { renames: '1', since, to, ignore_whitespace: ignoreWhitespace ? '1' : null },
    }),
}
