/** An MCP server that speaks JSON-RPC by hand, so that it can say what no honest one does. */

export interface HostileMcp {
  url: string
  /** What is asked of it by each message: the method, or `answer <id>` of a reply to one of its own questions. */
  asked: string[]
  /** The most requests that were open at once. */
  openMax: number
  tools: Record<string, unknown>[]
  /** Replaces the answer to a method; `message.params.name` is the tool. */
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
        // As a real one has it: a reply takes a while.
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

/** Server-sent events, as fast as they are read; `end` keeps the stream open when it is false. */
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
