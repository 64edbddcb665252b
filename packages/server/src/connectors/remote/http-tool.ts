/** A connector to an HTTP API: one tool that sends requests below the base URL. */
import { guardedFetch } from '../../egress/guarded-fetch.ts'
import type { KnownTool } from '../store.ts'
import type { Answer } from './answer.ts'

export const httpToolName = 'request'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const bytesMax = 4 * 1024 * 1024
const answerMs = 60_000
const shownHeaders = ['content-type', 'location', 'link', 'etag', 'retry-after']

export function httpTool(url: string): KnownTool {
  return {
    name: httpToolName,
    title: null,
    description: `Send a request to the HTTP API at ${url}. The server adds the credential. Returns status, headers and body.`,
    read_only: false,
    input_schema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: methods, default: 'GET' },
        path: { type: 'string', description: `Path below ${url}, such as /items/1, without a query.` },
        query: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
        body: { description: 'Sent as JSON; a string is sent unchanged.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
  }
}

export interface HttpCall {
  method: (typeof methods)[number]
  url: URL
  body: string | null
  contentType: string | null
}

/** HTTP defines these methods as safe. */
export function isReadOnlyRequest(args: Record<string, unknown>): boolean {
  return [undefined, 'GET', 'HEAD'].includes(args.method as string | undefined)
}

/** The request, or the error in the arguments. */
export function readHttpCall(base: string, args: Record<string, unknown>): HttpCall | string {
  const method = args.method ?? 'GET'
  if (!methods.includes(method as never)) return `method must be one of ${methods.join(', ')}.`
  const url = resolvePath(base, args.path)
  if (typeof url === 'string') return url
  const query = args.query ?? {}
  if (typeof query !== 'object' || Array.isArray(query)) return 'query must be an object of names and values.'
  for (const [name, value] of Object.entries(query)) {
    if (!['string', 'number', 'boolean'].includes(typeof value))
      return `query.${name} must be a string, number or boolean.`
    url.searchParams.append(name, String(value))
  }
  const hasBody = args.body !== undefined && args.body !== null
  if (hasBody && (method === 'GET' || method === 'HEAD')) return `A ${method} request has no body.`
  return {
    method: method as HttpCall['method'],
    url,
    body: hasBody ? (typeof args.body === 'string' ? args.body : JSON.stringify(args.body)) : null,
    contentType: hasBody ? (typeof args.body === 'string' ? 'text/plain; charset=utf-8' : 'application/json') : null,
  }
}

/** Checks the path as given and as sent: it must not contain `..`, name a host, or encode either. */
function resolvePath(base: string, path: unknown): URL | string {
  if (typeof path !== 'string' || path.length > 4096) return 'path must be a string such as /items/1.'
  if (/[\\?#\s\p{Cc}]/u.test(path)) return 'path contains an invalid character; put a query into query.'
  let plain = path
  // As often as an intermediary might decode it.
  for (let round = 0; round < 3; round++) {
    if (plain.split(/[/\\]/).some((part) => part === '..' || part === '.'))
      return 'path leaves the base URL of the connector.'
    try {
      plain = decodeURIComponent(plain)
    } catch {
      return 'path is not URL-encoded.'
    }
  }
  const root = new URL(base)
  const folder = root.pathname.replace(/\/+$/, '')
  const url = new URL(root.href)
  url.hash = ''
  url.pathname = `${folder}/${path.replace(/^\/+/, '')}`
  const isBelow = url.origin === root.origin && (url.pathname === folder || url.pathname.startsWith(`${folder}/`))
  return isBelow ? url : 'path leaves the base URL of the connector.'
}

export async function sendHttpCall(
  call: HttpCall,
  options: { headers: Record<string, string>; allowPrivate: boolean; signal: AbortSignal },
): Promise<Answer> {
  const send = guardedFetch({ allowPrivate: options.allowPrivate, bytesMax, idleMs: answerMs })
  const response = await send(call.url, {
    method: call.method,
    headers: {
      accept: 'application/json, text/*;q=0.9, */*;q=0.1',
      ...(call.contentType === null ? {} : { 'content-type': call.contentType }),
      ...options.headers,
    },
    ...(call.body === null ? {} : { body: call.body }),
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(answerMs)]),
  })
  const headers = Object.fromEntries(
    shownHeaders.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  const body = await readBody(response)
  return {
    content: [{ type: 'text', text: `HTTP ${response.status}\n${headerLines(headers)}\n\n${body}` }],
    isError: !response.ok && response.status >= 400,
  }
}

const headerLines = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

async function readBody(response: Response): Promise<string> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `(${bytes.length} bytes of binary data)`
  }
}
