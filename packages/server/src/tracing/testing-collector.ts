/** A collector that takes OTLP over HTTP as JSON, with its answers chosen by the test. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  /** 1 internal, 2 server, 3 client. */
  kind: number
  attributes: Record<string, unknown>
  links?: { traceId: string; spanId: string }[]
  status: { code?: number; message?: string }
  events: unknown[]
  service: Record<string, unknown>
}

interface Attribute {
  key: string
  value: Record<string, unknown>
}

interface Traces {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes' | 'service'> & { attributes: Attribute[] })[] }[]
  }[]
}

export type Mode = 'takes' | 'hangs' | 'fails'

export async function startCollector() {
  const bodies: string[] = []
  const headers: Record<string, unknown>[] = []
  const hanging = new Set<ServerResponse>()
  let mode: Mode = 'takes'
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      headers.push({ ...request.headers, url: request.url })
      if (mode === 'hangs') return void hanging.add(response)
      if (mode === 'takes') bodies.push(Buffer.concat(chunks).toString('utf8'))
      response.writeHead(mode === 'takes' ? 200 : 400, { 'content-type': 'application/json' })
      response.end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    hanging,
    set: (given: Mode) => void (mode = given),
    spans: () => bodies.flatMap(spansOf),
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export type Collector = Awaited<ReturnType<typeof startCollector>>

function spansOf(body: string): ReceivedSpan[] {
  return (JSON.parse(body) as Traces).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, attributes: asObject(span.attributes), service: asObject(resource.attributes) })),
    ),
  )
}

function asObject(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
