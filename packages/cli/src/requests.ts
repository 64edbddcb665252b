/** One typed call for each route: `api.get('/v1/projects', { query })` answers the body, or throws the refusal. */
import type { paths } from '@svc/contract/api'

/** The routes below one thing, called by what follows its id. */
type Below<Prefix extends string> = {
  [P in keyof paths as P extends `${Prefix}${infer Rest}` ? Rest : never]: paths[P]
}
type ProjectPath = '/v1/projects/{projectId}'

/** What every call takes besides the parameters of its route. */
export interface Sent {
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Sends an idempotency key: the service acts once, however often the request is sent. */
  once?: boolean
}

type PartOf<Op, Part extends 'path' | 'query'> = Op extends { parameters: { [P in Part]?: infer T } }
  ? NonNullable<T>
  : never
type BodyOf<Op> = Op extends { requestBody: { content: { 'application/json': infer T } } }
  ? T
  : Op extends { requestBody?: { content: { 'application/json': infer T } } }
    ? Partial<T>
    : never
type PathOf<Op, Known extends string> = [PartOf<Op, 'path'>] extends [never] ? never : Omit<PartOf<Op, 'path'>, Known>

/** Required if the value has a required property. */
type Option<Name extends string, T> = [T] extends [never] ? {} : {} extends T ? { [N in Name]?: T } : { [N in Name]: T }
type Options<Op, Known extends string> = Sent &
  Option<'path', PathOf<Op, Known>> &
  Option<'query', PartOf<Op, 'query'>> &
  Option<'body', BodyOf<Op>>
type Given<T> = {} extends T ? [options?: T] : [options: T]

type JsonOf<Response> = Response extends { content: { 'application/json': infer T } } ? T : never
type ReplyOf<Op> = Op extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathsWith<Paths, M extends Method> = {
  [P in keyof Paths]: Paths[P] extends { [Name in M]: object } ? P : never
}[keyof Paths]
type OpOf<Routes, M extends Method> = Routes extends { [Name in M]: infer Op } ? Op : never

/** One function of HTTP method `M`, which answers the body as `Answer` wraps it. */
type Call<Paths, M extends Method, Known extends string, Answer extends 'body' | 'warned' | 'page' | 'stream'> = <
  P extends PathsWith<Paths, M>,
>(
  path: P,
  ...options: Given<Options<OpOf<Paths[P], M>, Known>>
) => Promise<
  {
    body: ReplyOf<OpOf<Paths[P], M>>
    warned: { data: ReplyOf<OpOf<Paths[P], M>>; warnings: string[] }
    page: { data: ReplyOf<OpOf<Paths[P], M>>; cursor: string | null }
    stream: ReadableStream<Uint8Array>
  }[Answer]
>

type Requests<Paths, Known extends string = never> = { [M in Method]: Call<Paths, M, Known, 'body'> } & {
  warned: { [M in 'post' | 'patch']: Call<Paths, M, Known, 'warned'> }
  page: Call<Paths, 'get', Known, 'page'>
  stream: Call<Paths, 'get', Known, 'stream'>
}

export interface Client extends Requests<paths> {
  /** Any route, by its method and path. */
  route(
    method: string,
    path: string,
    options?: Sent & { body?: unknown },
  ): Promise<{ text: string; response: Response }>
  project(projectId: string): ProjectClient
}

export interface ProjectClient extends Requests<Below<ProjectPath>, 'projectId'> {
  id: string
  api: Client
  session(sessionId: string): SessionClient
  changeRequest(crId: string): ChangeRequestClient
}

export interface SessionClient extends Requests<
  Below<`${ProjectPath}/sessions/{sessionId}`>,
  'projectId' | 'sessionId'
> {
  id: string
  project: ProjectClient
}

export type ChangeRequestClient = Requests<Below<`${ProjectPath}/change-requests/{crId}`>, 'projectId' | 'crId'>
