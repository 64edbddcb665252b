/** Remote MCP servers: asking them for their tools, and calling one. The SDK is loaded when the first is asked. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { errorStatus } from '@svc/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { guardedFetch } from '../egress/guarded-fetch.ts'
import { findUnusable } from '../http/body.ts'
import { version } from '../version.ts'
import type { Answer } from './answer.ts'
import type { Redactor } from './redact.ts'
import type { KnownTool } from './store.ts'

export interface RemoteTarget {
  url: string
  headers: Record<string, string>
  allowPrivate: boolean
  redact: Redactor
}

const bytesMax = 8 * 1024 * 1024
const listMs = 15_000
/** All pages together: a job waits for them. */
const listTotalMs = 30_000
const callMs = 60_000
/** However often it reports progress. */
const callTotalMs = 10 * 60_000
const toolsMax = 128
const pagesMax = 20
const descriptionCharsMax = 4_000
const schemaCharsMax = 32 * 1024
/** Of all tools of a connector: every prompt of a session carries them. */
const listCharsMax = 256 * 1024
/** Requests a server may have us answer at once, such as pings. Each is a connection. */
const sendingMax = 16

/** How a server says that it has no such stream. */
const notOffered = { status: errorStatus('method_not_allowed') }

/** A connection of its own, closed again: a list is asked for rarely. */
export async function listRemoteTools(target: RemoteTarget, given: AbortSignal): Promise<KnownTool[]> {
  const signal = AbortSignal.any([given, AbortSignal.timeout(listTotalMs)])
  const connection = await connect(target, signal)
  try {
    const { ListToolsResultSchema } = await import('@modelcontextprotocol/sdk/types.js')
    const found: KnownTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < pagesMax && found.length < toolsMax; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const answer = await connection.client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
        timeout: listMs,
        signal,
      })
      found.push(...answer.tools.flatMap((tool) => readTool(target.redact.value(tool))))
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return withinLimits(unique(found))
  } catch (error) {
    throw connection.broken ?? error
  } finally {
    await connection.client.close()
  }
}

interface ToolSaid {
  name: string
  title?: string | undefined
  description?: string | undefined
  inputSchema: Record<string, unknown>
  annotations?: { readOnlyHint?: boolean | undefined; title?: string | undefined } | undefined
}

/** Control characters, what turns text around, and halves of characters. */
const unreadable = /[\p{Cc}\p{Cf}\p{Cs}]/u

function readTool(tool: ToolSaid): KnownTool[] {
  // What cannot be described to a model cannot be called by one, and a name that hides something is no name.
  if (tool.name === '' || tool.name.length > 200 || unreadable.test(tool.name)) return []
  if (findUnusable(tool.inputSchema) !== null || JSON.stringify(tool.inputSchema).length > schemaCharsMax) return []
  const title = tool.title ?? tool.annotations?.title
  return [
    {
      name: tool.name,
      title: title === undefined ? null : storable(title.slice(0, 200)),
      description: storable((tool.description ?? '').slice(0, descriptionCharsMax)),
      input_schema: tool.inputSchema,
      read_only: tool.annotations?.readOnlyHint === true,
    },
  ]
}

/** PostgreSQL keeps no NUL and no half of a character, which a cut may leave, too. */
const storable = (text: string) => text.replaceAll('\0', '').toWellFormed()

function withinLimits(tools: KnownTool[]): KnownTool[] {
  let chars = 0
  const over = tools.slice(0, toolsMax).findIndex((tool) => (chars += JSON.stringify(tool).length) > listCharsMax)
  return tools.slice(0, over === -1 ? toolsMax : over)
}

const unique = (tools: KnownTool[]) => [...new Map(tools.map((tool) => [tool.name, tool])).values()]

interface Connection {
  client: Client
  calls: number
  /** A call went wrong on it, so its streams may be open still: it is closed after its last call. */
  isRetired: boolean
  /** Why this server closed it. */
  broken: Error | null
}

/** Kept for the next call of the same session: some servers remember what they were told before. */
const kept = new LRUCache<string, Connection>({
  max: 256,
  ttl: 5 * 60_000,
  updateAgeOnGet: true,
  dispose: (connection) => {
    if (connection.calls === 0) void connection.client.close().catch(() => {})
    else connection.isRetired = true
  },
})

export async function callRemoteTool(
  target: RemoteTarget,
  call: {
    /** Whose connection it is: nobody speaks on that of another session. */
    owner: string
    tool: string
    arguments: Record<string, unknown>
    signal: AbortSignal
    onProgress(): void
  },
): Promise<Answer> {
  const key = createHash('sha256')
    .update(JSON.stringify([call.owner, target.url, target.headers]))
    .digest('hex')
  const { CallToolResultSchema } = await import('@modelcontextprotocol/sdk/types.js')
  const ask = async ({ client }: Connection) => {
    const answer = await client.request(
      { method: 'tools/call', params: { name: call.tool, arguments: call.arguments } },
      CallToolResultSchema,
      {
        timeout: callMs,
        maxTotalTimeout: callTotalMs,
        resetTimeoutOnProgress: true,
        onprogress: call.onProgress,
        signal: call.signal,
      },
    )
    return {
      content: answer.content as Record<string, unknown>[],
      ...(answer.structuredContent === undefined ? {} : { structuredContent: answer.structuredContent }),
      isError: answer.isError === true,
    }
  }
  const known = kept.get(key)
  if (known !== undefined) {
    try {
      return await onConnection(key, known, ask)
    } catch (error) {
      // It forgot the connection, and so cannot have taken the call.
      if (!isForgotten(error)) throw error
    }
  }
  const connection = await connect(target, call.signal)
  kept.set(key, connection)
  connection.client.onclose = () => {
    if (kept.peek(key) === connection) kept.delete(key)
  }
  return onConnection(key, connection, ask)
}

/** One call of those that share a connection. An error the server answers with leaves the connection as it was. */
async function onConnection<T>(key: string, connection: Connection, ask: (on: Connection) => Promise<T>): Promise<T> {
  connection.calls += 1
  try {
    return await ask(connection)
  } catch (error) {
    if (!isAnswered(error)) retire(key, connection)
    throw connection.broken ?? error
  } finally {
    connection.calls -= 1
    if (connection.isRetired && connection.calls === 0) await connection.client.close()
  }
}

/** Later calls get a connection of their own, and those under way keep theirs. */
function retire(key: string, connection: Connection): void {
  connection.isRetired = true
  if (kept.peek(key) === connection) kept.delete(key)
}

/** Of JSON-RPC's own codes; those of the SDK for a call that was given up, and of HTTP, are no answers. */
function isAnswered(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' && code < -32_001
}

function isForgotten(error: unknown): boolean {
  return (error as { code?: unknown }).code === 404
}

async function connect(target: RemoteTarget, signal: AbortSignal): Promise<Connection> {
  const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ])
  const client = new Client({ name: 'svc', version }, { capabilities: {} })
  const connection: Connection = { client, calls: 0, isRetired: false, broken: null }
  const send = boundedSend(target, (reason) => {
    // The SDK keeps to itself why a stream broke, and its call would wait in vain.
    connection.broken ??= reason
    void client.close().catch(() => {})
  })
  const transport = new StreamableHTTPClientTransport(new URL(target.url), {
    requestInit: { headers: target.headers },
    // Nothing here waits for a server's own news, so its stream of them is not opened.
    fetch: async (url, init) => ((init?.method ?? 'GET') === 'GET' ? new Response(null, notOffered) : send(url, init)),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
    },
  })
  try {
    await client.connect(transport, { timeout: listMs, signal })
  } catch (error) {
    await client.close().catch(() => {})
    throw connection.broken ?? error
  }
  return connection
}

/** A server may ask its client, too, as fast as it can write: what it has us send at once is bounded, and so is what it says. */
function boundedSend(target: RemoteTarget, onBroken: (reason: Error) => void) {
  const send = guardedFetch({ allowPrivate: target.allowPrivate, bytesMax, idleMs: callMs * 2, onTooLarge: onBroken })
  let sending = 0
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (sending >= sendingMax) throw new Error('The server asks too much at once.')
    sending += 1
    try {
      return await send(url, init)
    } finally {
      sending -= 1
    }
  }
}
