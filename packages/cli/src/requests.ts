/** One typed call for each route: `api.get('/v1/projects', { query })` answers the body, or throws the refusal. */
import type { paths } from '@svc/contract/api'

/** The routes below one thing, called by what follows its id. */
type Below<Prefix extends string> = {
  [P in keyof paths as P extends `${Prefix}${infer Rest}` ? Rest : never]: paths[P]
}
type ProjectPath = '/v1/projects/{projectId}'

/** The options of every call, besides the parameters of its route. */
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
type OptionsOf<Op, Known extends string> = Sent &
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
  ...options: Given<OptionsOf<OpOf<Paths[P], M>, Known>>
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

export type Options = Sent & { path?: object; query?: object; body?: object }

/** A server and the token for it. */
export interface Connection {
  send(answer: AnswerKind, method: Method, path: string, options: Options): Promise<unknown>
  /** Any route, by its method and path. */
  route(method: string, path: string, options?: Options): Promise<{ text: string; response: Response }>
}
type AnswerKind = 'reply' | 'replyPage' | 'replyStream' | 'replyWarned'

/** Connects at the first request. */
export function clientOver(open: () => Promise<Connection>): Client {
  const below = <T>(prefix: string, known: () => Promise<object>, more: object) => {
    const by =
      (method: Method, answer: AnswerKind = 'reply') =>
      async (path: string, options: Options = {}) => {
        const given = { ...(await known()), ...options.path }
        return (await open()).send(answer, method, prefix + path, { ...options, path: given })
      }
    return {
      ...{ get: by('get'), post: by('post'), put: by('put'), patch: by('patch'), delete: by('delete') },
      ...{ page: by('get', 'replyPage'), stream: by('get', 'replyStream') },
      warned: { post: by('post', 'replyWarned'), patch: by('patch', 'replyWarned') },
      ...more,
    } as unknown as T
  }
  const client = below<Client>('', async () => ({}), {
    route: async (...given: Parameters<Connection['route']>) => (await open()).route(...given),
    project(given: string | (() => Promise<string>)) {
      const prefix = '/v1/projects/{projectId}'
      const known = async () => ({ projectId: typeof given === 'string' ? given : await given() })
      const project = below<ProjectClient>(prefix, known, {
        api: client,
        async id() {
          const { projectId } = await known()
          await open()
          return projectId
        },
        session: (sessionId: string) =>
          below(`${prefix}/sessions/{sessionId}`, async () => ({ ...(await known()), sessionId }), {
            ...{ id: sessionId, project },
          }),
        changeRequest: (crId: string) =>
          below(`${prefix}/change-requests/{crId}`, async () => ({ ...(await known()), crId }), {}),
      })
      return project
    },
  })
  return client
}

export interface Client extends Requests<paths> {
  route: Connection['route']
  /** The id may be found at the first request. */
  project(projectId: string | (() => Promise<string>)): ProjectClient
}

export interface ProjectClient extends Requests<Below<ProjectPath>, 'projectId'> {
  /** Finds the project and connects, so that a command fails before it does anything else. */
  id(): Promise<string>
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
