/** An MCP server with hand-written JSON-RPC, so that tests can send replies no honest server sends. */

export interface HostileMcp {
  url: string
  /** The method of each message, or `answer <id>` for a reply to a request of this server. */
  asked: string[]
  /** The highest number of concurrent requests. */
  openMax: number
  tools: Record<string, unknown>[]
  /** Replaces the reply to a method, or to the tool `message.params.name`. */
  answers: Record<string, (message: Message, request: Request) => Response | Promise<Response>>
  close(): void
}

export interface Message {
  id?: unknown
  method?: string
  params?: { name?: string; cursor?: string }
  result?: unknown
  error?: { code?: number }
}

export function serveHostileMcp(): HostileMcp {
  let open = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      open += 1
      hostile.openMax = Math.max(hostile.openMax, open)
      try {
        return await answerTo(request)
      } finally {
        open -= 1
      }
    },
  })
  async function answerTo(request: Request): Promise<Response> {
    if (request.method !== 'POST') return new Response(null, { status: 405 })
    const message = (await request.json()) as Message
    hostile.asked.push(message.method ?? `answer ${String(message.id)}`)
    const replaced = hostile.answers[message.method ?? ''] ?? hostile.answers[message.params?.name ?? '']
    if (replaced !== undefined) return replaced(message, request)
    switch (message.method) {
      case 'initialize':
        return reply(message, {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'hostile', version: '1' },
        })
      case 'tools/list':
        return reply(message, { tools: hostile.tools })
      case 'tools/call':
        return reply(message, text(`called ${message.params?.name}`))
      default:
        // Like a real server, which takes a moment.
        await Bun.sleep(1)
        return new Response(null, { status: 202 })
    }
  }
  const hostile: HostileMcp = {
    url: `http://127.0.0.1:${server.port}/mcp`,
    asked: [],
    openMax: 0,
    tools: [],
    answers: {},
    close: () => void server.stop(true),
  }
  return hostile
}

export const text = (said: string) => ({ content: [{ type: 'text', text: said }] })

export const reply = (message: Message, result: unknown) => Response.json({ jsonrpc: '2.0', id: message.id, result })

/** Server-sent events, written as fast as they are read. `end: false` keeps the stream open. */
export function stream(events: Iterable<string>, options: { end?: boolean; onCancel?(): void } = {}): Response {
  const iterator = events[Symbol.iterator]()
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream({
      pull(controller) {
        const { done, value } = iterator.next()
        if (done !== true) return controller.enqueue(encoder.encode(value))
        if (options.end !== false) controller.close()
        else return new Promise<void>(() => {})
      },
      cancel: () => options.onCancel?.(),
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  )
}

export const event = (message: unknown) => `event: message\ndata: ${JSON.stringify(message)}\n\n`
