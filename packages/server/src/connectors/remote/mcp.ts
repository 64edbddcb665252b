/** Client for remote MCP servers. The SDK loads on first use. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { errorStatus } from '@svc/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { guardedFetch } from '../../egress/guarded-fetch.ts'
import { findUnusable } from '../../http/bodies/body.ts'
import { version } from '../../version.ts'
import type { Answer } from './answer.ts'
import type { Redactor } from './redact.ts'
import type { KnownTool } from '../store.ts'

export interface RemoteTarget {
  url: string
  headers: Record<string, string>
  allowPrivate: boolean
  redact: Redactor
}

const bytesMax = 8 * 1024 * 1024
const listMs = 15_000
/** For all pages together, because a job waits for them. */
const listTotalMs = 30_000
const callMs = 60_000
/** A limit even for calls that report progress. */
const callTotalMs = 10 * 60_000
const toolsMax = 128
const pagesMax = 20
const descriptionCharsMax = 4_000
const schemaCharsMax = 32 * 1024
/** For all tools of a connector: every prompt of a session contains them. */
const listCharsMax = 256 * 1024
/** Concurrent replies to requests of the server, such as pings. Each is a connection. */
const sendingMax = 16

/** The response of a server without such a stream. */
const notOffered = { status: errorStatus('method_not_allowed') }

/** Uses a connection of its own, because lists are rare. */
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

interface ListedTool {
  name: string
  title?: string | undefined
  description?: string | undefined
  inputSchema: Record<string, unknown>
  annotations?: { readOnlyHint?: boolean | undefined; title?: string | undefined } | undefined
}

/** Control characters, bidirectional overrides and lone surrogates. */
const unreadable = /[\p{Cc}\p{Cf}\p{Cs}]/u

function readTool(tool: ListedTool): KnownTool[] {
  // A model cannot call a tool without a valid schema, and a name must not hide characters.
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

/** PostgreSQL rejects NUL and lone surrogates, which truncation may leave. */
const storable = (text: string) => text.replaceAll('\0', '').toWellFormed()

function withinLimits(tools: KnownTool[]): KnownTool[] {
  let chars = 0
  const over = tools.slice(0, toolsMax).findIndex((tool) => (chars += JSON.stringify(tool).length) > listCharsMax)
  return tools.slice(0, over === -1 ? toolsMax : over)
}

const unique = (tools: KnownTool[]) => [...new Map(tools.map((tool) => [tool.name, tool])).values()]

/** A connection that fails to close is broken, so the server holds nothing for it. */
function ignoreFailedClose(): void {}

interface Connection {
  client: Client
  calls: number
  /** Set after a failed call, whose streams may still be open: the connection closes after its last call. */
  isRetired: boolean
  /** Why this connection was closed here. */
  broken: Error | null
}

/** Pooled for later calls of the same session, because some servers keep state per connection. */
const pooled = new LRUCache<string, Connection>({
  max: 256,
  ttl: 5 * 60_000,
  updateAgeOnGet: true,
  dispose: (connection) => {
    if (connection.calls === 0) void connection.client.close().catch(ignoreFailedClose)
    else connection.isRetired = true
  },
})

export async function callRemoteTool(
  target: RemoteTarget,
  call: {
    /** The owner of the connection: sessions never share one. */
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
  const known = pooled.get(key)
  if (known !== undefined) {
    try {
      return await onConnection(key, known, ask)
    } catch (error) {
      // The server lost the session, so it did not run the call.
      if (!isSessionLost(error)) throw error
    }
  }
  const connection = await connect(target, call.signal)
  pooled.set(key, connection)
  connection.client.onclose = () => {
    if (pooled.peek(key) === connection) pooled.delete(key)
  }
  return onConnection(key, connection, ask)
}

/** Runs a call on a shared connection. An error reply of the server does not affect the connection. */
async function onConnection<T>(key: string, connection: Connection, ask: (on: Connection) => Promise<T>): Promise<T> {
  connection.calls += 1
  try {
    return await ask(connection)
  } catch (error) {
    if (!isServerReply(error)) retire(key, connection)
    throw connection.broken ?? error
  } finally {
    connection.calls -= 1
    if (connection.isRetired && connection.calls === 0) await connection.client.close()
  }
}

/** Later calls open another connection; calls in progress keep this one. */
function retire(key: string, connection: Connection): void {
  connection.isRetired = true
  if (pooled.peek(key) === connection) pooled.delete(key)
}

/** JSON-RPC's own codes. The SDK's codes for aborted calls and HTTP statuses are no reply of the server. */
function isServerReply(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' && code < -32_001
}

function isSessionLost(error: unknown): boolean {
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
    // The SDK hides why a stream broke, so the call would never end.
    connection.broken ??= reason
    void client.close().catch(ignoreFailedClose)
  })
  const transport = new StreamableHTTPClientTransport(new URL(target.url), {
    requestInit: { headers: target.headers },
    // Server notifications are unused, so don't open their stream.
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
    await client.close().catch(ignoreFailedClose)
    throw connection.broken ?? error
  }
  return connection
}

/** A server can also send requests to its client, without limit. This bounds the concurrent replies and the response size. */
function boundedSend(target: RemoteTarget, onBroken: (reason: Error) => void) {
  const send = guardedFetch({ allowPrivate: target.allowPrivate, bytesMax, idleMs: callMs * 2, onTooLarge: onBroken })
  let sending = 0
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (sending >= sendingMax) throw new Error('The server sent too many requests at once.')
    sending += 1
    try {
      return await send(url, init)
    } finally {
      sending -= 1
    }
  }
}
