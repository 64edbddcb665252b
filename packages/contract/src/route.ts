import { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import { errorsOfRoute } from './route-errors.ts'

/**
 * The callers of a route. Required by the type, so a route without a decision does not compile.
 * - `public`: everyone, without a token
 * - `token`: any valid user or project token
 * - `account`: user tokens only, under /v1/accounts, where project tokens are refused before routing
 * - `account-read`: user tokens of the members of `:accountId`, viewers included
 * - `account-admin`: user tokens of its owners and admins
 * - `user`: user tokens only, elsewhere
 * - `project-read`: members of the account, viewers included, and the project's own tokens
 * - `project-write`: members and up, and the project's own tokens
 * - `project-admin`: owners and admins by a user token; no project token
 * - `sandbox`: the sandbox service key (`SVC_TOKEN`)
 */
export type Access =
  | 'public'
  | 'token'
  | 'account'
  | 'account-read'
  | 'account-admin'
  | 'user'
  | 'project-read'
  | 'project-write'
  | 'project-admin'
  | 'sandbox'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * The effect of a write on stored data. `adds` counts against the bytes an agent may write, and is refused while the disk
 * is almost full. `ends` stops or merges work, so it is always allowed. DELETE always ends.
 */
export type Effect = 'adds' | 'ends'

/** Required on every write that the token of a sandbox can reach. */
type WithEffect<M extends Method, A extends Access> = M extends 'POST' | 'PATCH'
  ? A extends 'token' | 'project-read' | 'project-write'
    ? { effect: Effect }
    : { effect?: undefined }
  : { effect?: undefined }

/** The definition of a route. A field without a default is required: a route that leaves it out does not compile. */
interface Definition<Reply, Query, Body> {
  /** camelCase, unique: the operation id of the API document. */
  name: string
  /** The imperative in a few words: the title of the operation. */
  summary: string
  /** For callers: effects, limits with units, and the errors that need a reaction. */
  description: string
  /** Codes beyond those that follow from the route's shape; see route-errors.ts. */
  errors?: readonly ErrorCode[]
  /** Whether it also answers for deleted projects (`too`) or only for them (`alone`), to those who may administer them. */
  deleted?: 'too' | 'alone'
  query?: Query
  body?: Body
  /** Without it, the limit of every route applies. */
  bodyLimit?: BodyLimit
  /** A request that a test sends to a server. */
  example?: RouteExample
  reply: Reply
  status?: 200 | 201 | 202
  /** POSTs that create or merge accept Idempotency-Key. */
  idempotent?: boolean
  /** The reply holds a secret, so the server does not store it: a repetition reads again what the first request made. */
  secretReply?: boolean
  /** The handler writes the reply itself, and `reply` only documents it. */
  stream?: boolean
  /** The list of the reply that `limit` and `cursor` cut. Without it the handler pages by itself, or there is no list. */
  pages?: ListPages
  /** The content types of the reply; `reply` describes the JSON one. */
  replyTypes?: string[]
  /** The JSON in `data` of each server-sent event. */
  event?: z.ZodType
  /** A public route that also answers inside a sandbox: it shows nothing about a person and takes nothing from one. */
  publicInSandbox?: boolean
}

export interface RouteExample {
  query?: Record<string, string>
  body?: unknown
}

export interface Route<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
  A extends Access = Access,
> extends Required<Omit<Definition<Reply, Query, Body>, Nullable>> {
  method: Method
  access: A
  path: string
  errors: ErrorCode[]
  /** Null where the token of a sandbox writes nothing: reads, DELETE, and routes it cannot reach. */
  effect: Effect | null
  /** Its path names a session, so the token of a sandbox reaches it only for its own session and those it started. */
  session: boolean
  deleted: 'too' | 'alone' | null
  params: Params
  body: Body | null
  bodyLimit: BodyLimit | null
  example: RouteExample | null
  pages: ListPages | null
  event: z.ZodType | null
}

/** A request's body as its route's schema leaves it. */
export type BodyOf<R extends Route> = z.output<NonNullable<R['body']>>

type Nullable = 'deleted' | 'body' | 'bodyLimit' | 'example' | 'pages' | 'event' | 'errors'

/** `refusal` is the message of the error for a larger body. */
export interface BodyLimit {
  bytesMax: number
  refusal: string
}

export interface ListPages {
  /** The field of the reply; null for a bare array. */
  list: string | null
  by: string
}

const noQuery = z.object({})

/** The values of the fields that a definition leaves out. */
const absent = {
  ...{ errors: [], effect: null, deleted: null, body: null, bodyLimit: null, example: null, pages: null, event: null },
  status: 200,
  ...{ idempotent: false, secretReply: false, stream: false, publicInSandbox: false },
  replyTypes: ['application/json'] as string[],
} as const

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: z.ZodString } & ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: z.ZodString }
    : Record<never, z.ZodString>

/** In the path `:name` marks a parameter. Parameters are plain strings here: a malformed UUID is an unknown id (404), not a bad request. */
const routeOf =
  <const M extends Method>(method: M) =>
  <
    const A extends Access,
    const Path extends string,
    Reply extends z.ZodType,
    Query extends z.ZodObject = typeof noQuery,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    access: A,
    path: Path,
    def: Definition<Reply, Query, Body> & WithEffect<M, A>,
  ): Route<z.ZodObject<ParamsOf<Path>>, Query, Body, Reply, A> => {
    const names = [...path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1]!)
    const params = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
    const whole = {
      ...absent,
      ...(def as Definition<Reply, Query, Body> & { effect?: Effect }),
      method,
      access,
      path,
      query: (def.query ?? noQuery) as Query,
      params: params as unknown as z.ZodObject<ParamsOf<Path>>,
      session: names.includes('sessionId'),
    }
    return { ...whole, errors: errorsOfRoute(whole) }
  }

export const route = {
  get: routeOf('GET'),
  post: routeOf('POST'),
  put: routeOf('PUT'),
  patch: routeOf('PATCH'),
  delete: routeOf('DELETE'),
}

/** An object that the API document describes once, under its name. */
export function named<Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) {
  return z.object(shape).meta({ id })
}

export const uuid = z.uuid()
export const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'is not a full commit id')
export const bytesAtMost = (max: number) => (text: string) => new TextEncoder().encode(text).length <= max

/** Replaces line ends and other control characters by a space: in a commit, a log or a card, a second line could pass for a message of its own. */
export const oneLine = (text: string) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
/** A name or a title. */
export const line = (max: number) => z.string().overwrite(oneLine).min(1).max(max)

export const timestamp = z.iso.datetime({ precision: 3 })
export const ok = named('Ok', { ok: z.literal(true) })
export const metadata = z
  .record(z.string(), z.json())
  .refine((value) => bytesAtMost(16 * 1024)(JSON.stringify(value)), 'is larger than 16 KiB')

/** `limit` and `cursor` of every list; the next page is in the `Link` header. */
export const page = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100).describe('The most entries of one page.'),
  cursor: z.string().max(200).optional().describe('The cursor in the `Link` header of the page before.'),
})

/** For lists that are whole without `limit`. */
export const pageOfWhole = page.extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('The most entries of one page. Without it, the list is whole.'),
})

/** The query and the `pages` of such a route; `list` is the field of the reply, null for a bare array. */
export const wholeList = (list: string | null, by: string) => ({ query: pageOfWhole, pages: { list, by } })
