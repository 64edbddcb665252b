import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { callRoute, nextPage, onlyOnce } from '../api.ts'
import { command } from '../command.ts'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { readStdin } from '../read-stdin.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const pagesMax = 1000

export const api = command({
  summary: 'Send a request to any route of the service',
  about: [
    'The route is a path, as /v1/projects or projects; {project} in it is the chosen project. With fields it is a POST unless --method says otherwise; the fields of a GET go into its query.',
    '-F reads true, false, null and numbers as such, and @file or @- as text of a file or of stdin; -f takes every value as text. The document is printed as JSON, for --jq and --template too.',
  ],
  scope: 'host',
  args: { route: { summary: 'Its path, as /v1/projects' } },
  flags: {
    method: { kind: 'text', summary: 'GET, POST, PUT, PATCH or DELETE', value: 'method', short: 'X' },
    field: { kind: 'text', summary: 'A field of the body or the query', value: 'name=value', short: 'F', many: true },
    'raw-field': { kind: 'text', summary: 'The same, always as text', value: 'name=value', short: 'f', many: true },
    input: { kind: 'text', summary: 'File with the body as JSON; - reads stdin', value: 'file', names: 'file' },
    paginate: { kind: 'switch', summary: 'Follow the list to its end, and print it as one' },
  },
  examples: [
    'svc api /v1/projects --paginate --jq ".[].slug"',
    "svc api 'projects/{project}/change-requests' -f status=open --method GET",
    'svc api /v1/accounts/tokens -f name=ci --method POST',
  ],
  async run(ctx, { args, flags }) {
    const hasBody = flags.field.length + flags['raw-field'].length > 0 || flags.input !== undefined
    const method = methodOf(flags.method ?? (hasBody ? 'POST' : 'GET'))
    if (flags.paginate && method !== 'GET') throw new UsageError('--paginate goes with GET')
    const fields = await fieldsOf(ctx, flags.field, flags['raw-field'])
    const body = flags.input === undefined ? fields : { ...(await inputOf(ctx, flags.input)), ...fields }
    const path = await pathOf(ctx, args.route)
    const client = await ctx.api()
    const headers = method === 'POST' ? onlyOnce(ctx.io) : {}
    if (method !== 'GET') {
      const { text } = await callRoute(client, method, path, { headers, ...(hasBody ? { body } : {}) })
      return print(ctx, text)
    }
    const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))
    const first = query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
    if (!flags.paginate) return print(ctx, (await callRoute(client, 'GET', first, { headers })).text)
    ctx.out.document(await allPages(client, first))
  },
})

function methodOf(given: string): string {
  const method = methods.find((each) => each === given.toUpperCase())
  if (method !== undefined) return method
  throw new UsageError(`--method is one of ${methods.join(', ')}; not ${JSON.stringify(given)}`)
}

/** Only the path counts: a route with another host is refused, for the token belongs to the chosen one. */
async function pathOf(ctx: Context, route: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:|^\/\/|[\s\\]/i.test(route))
    throw new UsageError(`A route is a path, as /v1/projects; not ${JSON.stringify(route)}`, {
      hint: 'The host is the chosen one: --host names another.',
      next: ['svc api /v1/projects', 'svc hosts ls'],
    })
  const absolute = `/${route.replace(/^\/+/, '')}`
  const path = absolute.startsWith('/v1/') ? absolute : `/v1${absolute}`
  return path.includes('{project}') ? path.replaceAll('{project}', await ctx.projectId()) : path
}

async function fieldsOf(
  ctx: Context,
  typed: readonly string[],
  texts: readonly string[],
): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  for (const pair of texts) {
    const [name, value] = splitPair(pair)
    fields[name] = value
  }
  for (const pair of typed) {
    const [name, value] = splitPair(pair)
    fields[name] = await typedValue(ctx, value)
  }
  return fields
}

function splitPair(pair: string): [string, string] {
  const at = pair.indexOf('=')
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
  throw new UsageError(`A field is given as name=value; not ${JSON.stringify(pair)}`)
}

async function typedValue(ctx: Context, value: string): Promise<unknown> {
  if (value === '@-') return readStdin(ctx.io, 'the value')
  if (value.startsWith('@')) return readFile(resolve(ctx.io.cwd, value.slice(1)), 'utf8')
  return /^(true|false|null|-?(0|[1-9]\d{0,14}))$/.test(value) ? JSON.parse(value) : value
}

async function inputOf(ctx: Context, file: string): Promise<object> {
  const text = file === '-' ? await readStdin(ctx.io, 'the body') : await readFile(resolve(ctx.io.cwd, file), 'utf8')
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body
  } catch (cause) {
    throw new UsageError('The body is not JSON', { cause })
  }
  throw new UsageError('The body is no JSON object')
}

function print({ out }: Context, text: string): void {
  const document = parse(text)
  if (document === undefined) out.block(text)
  else out.document(document)
}

/** Undefined for what is no JSON, as a patch. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Lists are joined, bare or wrapped in an object; anything else has no pages. */
async function allPages(client: Parameters<typeof callRoute>[0], first: string): Promise<unknown> {
  const pages: unknown[] = []
  for (let path: string | null = first; path !== null;) {
    const { text, response } = await callRoute(client, 'GET', path, { headers: {} })
    pages.push(parse(text))
    path = nextPage(response)
    if (pages.length === pagesMax && path !== null)
      throw new Refusal('not_available', `The list has more than ${pagesMax} pages`)
  }
  if (pages.every((page) => Array.isArray(page))) return pages.flat()
  const joined = pages[0] as Record<string, unknown>
  for (const page of pages.slice(1) as Record<string, unknown>[])
    for (const [key, rows] of Object.entries(page))
      if (Array.isArray(rows)) joined[key] = ((joined[key] ?? []) as unknown[]).concat(rows)
  return joined
}
