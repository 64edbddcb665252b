import { z } from 'zod'

/**
 * Who may call a route. Required by its type, so a route nobody thought about does not compile.
 * - `public`: anybody
 * - `token`: any valid user or project token
 * - `account`: user tokens only; lies under /v1/accounts, where project tokens are refused before routing
 * - `account-read`: user tokens of the members of `:accountId`, viewers included
 * - `account-admin`: user tokens of its owners and admins
 * - `user`: user tokens only, elsewhere
 * - `project-read`: whoever may see the project, viewers included
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
 * What a write does to what the server keeps. `adds` counts against the bytes an agent may write and is refused while the
 * disk is almost full. `ends` stops work or lands it, so it always passes. DELETE always ends.
 */
export type Effect = 'adds' | 'ends'

/** Required on every write that the token of a sandbox can reach. */
type WithEffect<M extends Method, A extends Access> = M extends 'POST' | 'PATCH'
  ? A extends 'token' | 'project-read' | 'project-write'
    ? { effect: Effect }
    : { effect?: undefined }
  : { effect?: undefined }

export interface Route<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
  A extends Access = Access,
> {
  /** camelCase, unique: the operation id of the OpenAPI document. */
  name: string
  summary: string
  method: Method
  /** `:name` marks a parameter. */
  path: string
  access: A
  /** Null where the token of a sandbox writes nothing: reads, DELETE, and routes it cannot reach. */
  effect: Effect | null
  /** A public route that also answers inside a sandbox: it shows nothing about a person and takes nothing from one. */
  publicInSandbox: boolean
  /** Its path names a session, so the token of a sandbox reaches it only for its own session and those it started. Follows from the path: a route cannot leave it out. */
  session: boolean
  params: Params
  query: Query
  body: Body | null
  reply: Reply
  status: 200 | 201 | 202
  /** POSTs that create or merge honour Idempotency-Key. */
  idempotent: boolean
  /** The reply holds a secret, so the answer to a key is not kept: a repetition reads again what the first made. */
  secretReply: boolean
  /** The reply is a stream or is written by the handler itself; `reply` then only documents it. */
  stream: boolean
  /** The list of the reply that `limit` and `cursor` cut, and the field that names an entry; null where the handler pages by itself or there is no list. */
  pages: ListPages | null
  /** The content types of the reply; `reply` describes the JSON one. */
  replyTypes: string[]
}

export interface ListPages {
  /** The field of the reply; null for a bare array. */
  list: string | null
  by: string
}

const noQuery = z.object({})

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: z.ZodString } & ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: z.ZodString }
    : Record<never, z.ZodString>

/** Parameters are plain strings here: a malformed UUID is an unknown id (404), not a bad request. */
export function route<
  const Path extends string,
  Reply extends z.ZodType,
  const A extends Access,
  const M extends Method,
  Query extends z.ZodObject = typeof noQuery,
  Body extends z.ZodType = z.ZodUndefined,
>(
  def: Definition<Path, Reply, A, M, Query, Body> & WithEffect<M, A>,
): Route<z.ZodObject<ParamsOf<Path>>, Query, Body, Reply, A> {
  const names = [...def.path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1]!)
  const params = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
  return {
    name: def.name,
    summary: def.summary,
    method: def.method,
    path: def.path,
    access: def.access,
    effect: def.effect ?? null,
    publicInSandbox: def.publicInSandbox ?? false,
    session: names.includes('sessionId'),
    params: params as unknown as z.ZodObject<ParamsOf<Path>>,
    query: (def.query ?? noQuery) as Query,
    body: def.body ?? null,
    reply: def.reply,
    status: def.status ?? 200,
    idempotent: def.idempotent ?? false,
    secretReply: def.secretReply ?? false,
    stream: def.stream ?? false,
    pages: def.pages ?? null,
    replyTypes: def.replyTypes ?? ['application/json'],
  }
}

interface Definition<Path, Reply, A, M, Query, Body> {
  name: string
  summary: string
  method: M
  path: Path
  access: A
  query?: Query
  body?: Body
  reply: Reply
  status?: 200 | 201 | 202
  idempotent?: boolean
  secretReply?: boolean
  stream?: boolean
  pages?: ListPages
  replyTypes?: string[]
  publicInSandbox?: boolean
}

export const uuid = z.uuid()
export const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'is not a full commit id')
export const bytesAtMost = (max: number) => (text: string) => new TextEncoder().encode(text).length <= max

/** Line ends and other control characters become a space: in a commit, a log or a card a second line would speak for itself. */
export const oneLine = (text: string) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
/** A name or a title. */
export const line = (max: number) => z.string().overwrite(oneLine).min(1).max(max)

export const timestamp = z.iso.datetime({ precision: 3 })
export const ok = z.object({ ok: z.literal(true) })
export const metadata = z
  .record(z.string(), z.json())
  .refine((value) => bytesAtMost(16 * 1024)(JSON.stringify(value)), 'is larger than 16 KiB')

/** `limit` and `cursor` of every list; the next page is in the `Link` header. */
export const page = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor: z.string().max(200).optional(),
})

/** The same of lists that are whole unless a page is asked for. Their routes name the list in `pages`. */
export const pageOfWhole = page.extend({ limit: z.coerce.number().int().min(1).max(1000).optional() })
