import { type Server, until } from './harness.ts'

/** The id of a question that an agent's call left behind; the agent itself is gone. */
export async function callThatWaits(server: Server, project: string, path: string): Promise<string> {
  await until('the connector to have its tool', async () => {
    const found = await server.json<{ status: string }>(['connectors', 'show', 'shop', '--project', project])
    return found.status === 'ready'
  })
  const call = { name: 'shop_request', arguments: { method: 'POST', path } }
  const leaving = new AbortController()
  const calling = server
    .api('/v1/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-svc-project': project,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
      signal: leaving.signal,
    })
    .then((response) => response.text())
    .catch(() => '')
  interface Asked {
    approval_id: string
    arguments: { path?: string }
  }
  const found = await until('the call to wait', async () => {
    const asked = ['connectors', 'approvals', '--project', project]
    const { approvals } = await server.json<{ approvals: Asked[] }>(asked)
    return approvals.find((approval) => approval.arguments.path === path)
  })
  leaving.abort()
  await calling
  return found.approval_id
}
