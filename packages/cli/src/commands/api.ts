import { nextPage } from '@svc/sdk'
import { parseJson } from '@svc/contract/json'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { readStdin } from '../terminal/read-stdin.ts'
import type { Client } from '../requests.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const pagesMax = 1000

export const api = command({
  summary: 'Send a request to any route of the service',
  about: [
    'The route is a path such as /v1/projects or projects; {project} in it is replaced by the current project. With fields the default method is POST; the fields of a GET go into the query.',
    '-F converts true, false, null and numbers, and reads @file or @- from a file or stdin; -f always sends text. The response is printed as JSON; --jq and --template apply to it.',
  ],
  scope: 'host',
  args: { route: { summary: 'Path of the route, such as /v1/projects' } },
  flags: {
    method: { kind: 'text', summary: 'GET, POST, PUT, PATCH or DELETE', value: 'method', short: 'X' },
    field: { kind: 'text', summary: 'A field of the body or the query', value: 'name=value', short: 'F', many: true },
    'raw-field': {
      kind: 'text',
      summary: 'A text field, without conversion',
      value: 'name=value',
      short: 'f',
      many: true,
    },
    input: { kind: 'text', summary: 'File with the body as JSON; - reads stdin', value: 'file', names: 'file' },
    paginate: { kind: 'switch', summary: 'Read all pages of a list, and print them as one' },
  },
  examples: [
    'svc api /v1/projects --paginate --jq ".[].slug"',
    "svc api 'projects/{project}/change-requests' -f status=open --method GET",
    'svc api /v1/accounts/tokens -f name=ci --method POST',
  ],
  async run(ctx, { args, flags }) {
    const hasBody = flags.field.length + flags['raw-field'].length > 0 || flags.input !== undefined
    const method = methodOf(flags.method ?? (hasBody ? 'POST' : 'GET'))
    if (flags.paginate && method !== 'GET') throw new UsageError('--paginate works only with GET')
    const fields = await fieldsOf(ctx, flags.field, flags['raw-field'])
    const body = flags.input === undefined ? fields : { ...(await inputOf(ctx, flags.input)), ...fields }
    const path = await pathOf(ctx, args.route)
    if (method !== 'GET') {
      const { text } = await ctx.api.route(method, path, { once: method === 'POST', ...(hasBody ? { body } : {}) })
      return print(ctx, text)
    }
    const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))
    const first = query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
    if (!flags.paginate) return print(ctx, (await ctx.api.route('GET', first)).text)
    ctx.out.document(await allPages(ctx.api, first))
  },
})

function methodOf(given: string): string {
  const method = methods.find((each) => each === given.toUpperCase())
  if (method !== undefined) return method
  throw new UsageError(`--method must be one of ${methods.join(', ')}, not ${JSON.stringify(given)}`)
}

/** Only the path counts. A URL of another host is refused: the token belongs to the chosen host. */
async function pathOf(ctx: Context, route: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:|^\/\/|[\s\\]/i.test(route))
    throw new UsageError(`A route is a path such as /v1/projects, not ${JSON.stringify(route)}`, {
      hint: 'To use another host, pass --host.',
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
  throw new UsageError(`A field must be name=value, not ${JSON.stringify(pair)}`)
}

async function typedValue(ctx: Context, value: string): Promise<unknown> {
  if (value === '@-') return readStdin(ctx.io, 'the value')
  if (value.startsWith('@')) return readFile(resolve(ctx.io.cwd, value.slice(1)), 'utf8')
  return /^(true|false|null|-?(0|[1-9]\d{0,14}))$/.test(value) ? JSON.parse(value) : value
}

async function inputOf(ctx: Context, file: string): Promise<object> {
  const text = file === '-' ? await readStdin(ctx.io, 'the body') : await readFile(resolve(ctx.io.cwd, file), 'utf8')
  const body = parseJson(text)
  if (body === undefined) throw new UsageError('The body is not JSON')
  if (typeof body !== 'object' || body === null) throw new UsageError('The body is not a JSON object')
  return body
}

function print({ out }: Context, text: string): void {
  const document = parseJson(text)
  if (document === undefined) out.block(text)
  else out.document(document)
}

/** Concatenates lists, bare or wrapped in an object; other documents have no pages. */
async function allPages(client: Client, first: string): Promise<unknown> {
  const pages: unknown[] = []
  for (let path: string | null = first; path !== null;) {
    const page = await client.route('GET', path)
    pages.push(parseJson(page.text))
    path = nextPage(page.response)
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
