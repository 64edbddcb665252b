/** A real MCP server and HTTP API on loopback that authenticate callers by a credential. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { z } from 'zod'

export type Served = Awaited<ReturnType<typeof serveMcp>>

/** Requires `Bearer <credential>`. Its tools repeat the credential where a careless server might. */
export async function serveMcp(credential: string, options: { port?: number } = {}) {
  /** The credential header of every request so far. */
  const seen: (string | null)[] = []
  /** The notes written so far, in order. */
  const notes: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: options.port ?? 0,
    idleTimeout: 0,
    async fetch(request) {
      const given = request.headers.get('authorization')
      seen.push(given)
      if (given !== `Bearer ${credential}`) return new Response('who are you?', { status: 401 })
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const mcp = notesServer(credential, notes)
      const transport = new WebStandardStreamableHTTPServerTransport()
      await mcp.connect(transport)
      return transport.handleRequest(request)
    },
  })
  return { url: `http://127.0.0.1:${server.port}/mcp`, seen, notes, close: () => server.stop(true) }
}

function notesServer(credential: string, notes: string[]): McpServer {
  const mcp = new McpServer({ name: 'notes', version: '1.0.0' })
  mcp.registerTool(
    'read',
    { description: `Read all notes (key ${credential})`, annotations: { readOnlyHint: true } },
    () => ({
      content: [
        { type: 'text', text: `${notes.length} notes: ${notes.join(', ')}` },
        { type: 'text', text: `asked with ${credential}, ${Buffer.from(credential).toString('base64')}` },
      ],
    }),
  )
  mcp.registerTool('write', { description: 'Write a note', inputSchema: { text: z.string() } }, ({ text }) => {
    notes.push(text)
    return { content: [{ type: 'text', text: `wrote ${text}` }] }
  })
  mcp.registerTool('break', { description: 'Fails', annotations: { readOnlyHint: true } }, () => {
    throw new Error(`no luck with ${encodeURIComponent(credential)}`)
  })
  mcp.registerTool('flood', { description: 'Says a lot', annotations: { readOnlyHint: true } }, () => ({
    content: [{ type: 'text', text: 'x'.repeat(2 * 1024 * 1024) }],
  }))
  return mcp
}

/** Echoes the request; `/elsewhere` redirects and `/big` returns too much. */
export async function serveApi(header: string, credential: string): Promise<Served> {
  const seen: (string | null)[] = []
  const notes: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url)
      seen.push(request.headers.get(header))
      if (request.headers.get(header) !== credential) return new Response('who are you?', { status: 401 })
      if (url.pathname.endsWith('/elsewhere'))
        return new Response(null, {
          status: 302,
          headers: { location: `http://127.0.0.1:${url.port}/away?key=${credential}` },
        })
      if (url.pathname.endsWith('/big')) return new Response('x'.repeat(5 * 1024 * 1024))
      const body = await request.text()
      if (request.method !== 'GET') notes.push(`${request.method} ${url.pathname} ${body}`)
      return Response.json({ method: request.method, path: url.pathname + url.search, body, headers: request.headers })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/api/v1`, seen, notes, close: () => server.stop(true) }
}
