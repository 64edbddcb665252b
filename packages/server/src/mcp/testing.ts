/** An MCP client of the official SDK for a server under test. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export type Gateway = Awaited<ReturnType<typeof connectGateway>>

export async function connectGateway(options: {
  url: string
  token: string
  headers?: Record<string, string>
  fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
  onProgress?(): void
}) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: { authorization: `Bearer ${options.token}`, ...options.headers } },
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  })
  await client.connect(transport)
  const onprogress = options.onProgress
  return {
    tools: async () => (await client.listTools()).tools.map(({ name, description = '' }) => ({ name, description })),
    async call(name: string, args: Record<string, unknown> = {}) {
      const answer = await client.callTool({ name, arguments: args }, undefined, {
        ...(onprogress === undefined ? {} : { onprogress }),
      })
      const content = answer.content as { type: string; text?: string }[]
      return { text: content.map((block) => block.text ?? '').join('\n'), isError: answer.isError === true }
    },
    close: () => client.close(),
  }
}
