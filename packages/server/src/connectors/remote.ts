/** Remote MCP servers: asking them for their tools, and calling one. The SDK is loaded when the first is asked. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { errorStatus } from '@svc/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { guardedFetch } from '../egress/guarded-fetch.ts'
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
const callMs = 60_000
/** However often it reports progress. */
const callTotalMs = 10 * 60_000
const toolsMax = 128
const pagesMax = 20
const descriptionCharsMax = 4_000
const schemaCharsMax = 32 * 1024

/** How a server says that it has no such stream. */
const notOffered = { status: errorStatus('method_not_allowed') }

/** A connection of its own, closed again: a list is asked for rarely. */
export async function listRemoteTools(target: RemoteTarget, signal: AbortSignal): Promise<KnownTool[]> {
  const client = await connect(target, signal)
  try {
    const { ListToolsResultSchema } = await import('@modelcontextprotocol/sdk/types.js')
    const found: KnownTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < pagesMax && found.length < toolsMax; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const answer = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
        timeout: listMs,
        signal,
      })
      found.push(...answer.tools.flatMap((tool) => readTool(target.redact.value(tool))))
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return unique(found).slice(0, toolsMax)
  } finally {
    await client.close()
  }
}

interface ToolSaid {
  name: string
  title?: string | undefined
  description?: string | undefined
  inputSchema: Record<string, unknown>
  annotations?: { readOnlyHint?: boolean | undefined; title?: string | undefined } | undefined
}

function readTool(tool: ToolSaid): KnownTool[] {
  const schema = JSON.stringify(tool.inputSchema)
  // What cannot be described to a model cannot be called by one.
  if (tool.name === '' || tool.name.length > 200 || schema.length > schemaCharsMax) return []
  return [
    {
      name: tool.name,
      title: (tool.title ?? tool.annotations?.title)?.slice(0, 200) ?? null,
      description: (tool.description ?? '').slice(0, descriptionCharsMax),
      input_schema: tool.inputSchema,
      read_only: tool.annotations?.readOnlyHint === true,
    },
  ]
}

const unique = (tools: KnownTool[]) => [...new Map(tools.map((tool) => [tool.name, tool])).values()]

/** Kept for the next call of the same session: some servers remember what they were told before. */
const kept = new LRUCache<string, { client: Client }>({
  max: 256,
  ttl: 5 * 60_000,
  updateAgeOnGet: true,
  dispose: ({ client }) => void client.close().catch(() => {}),
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
  const ask = async (client: Client) => {
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
      return await ask(known.client)
    } catch (error) {
      // It forgot the connection, and so cannot have taken the call.
      if (!isForgotten(error)) throw error
      kept.delete(key)
    }
  }
  const client = await connect(target, call.signal)
  kept.set(key, { client })
  client.onclose = () => {
    if (kept.peek(key)?.client === client) kept.delete(key)
  }
  return ask(client)
}

function isForgotten(error: unknown): boolean {
  return (error as { code?: unknown }).code === 404
}

async function connect(target: RemoteTarget, signal: AbortSignal): Promise<Client> {
  const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ])
  const client = new Client({ name: 'svc', version }, { capabilities: {} })
  const send = guardedFetch({ allowPrivate: target.allowPrivate, bytesMax, idleMs: callMs * 2 })
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
    throw error
  }
  return client
}
