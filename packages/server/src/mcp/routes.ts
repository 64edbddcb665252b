/** The door of agents' tools: MCP over streamable HTTP. Not a contract route, because its bodies are that protocol's. */
import { mcpGatewayPath, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { parseJson, readBody } from '../http/body.ts'
import { type App, requestInfo } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { whoAsks } from './asker.ts'

export function mcpRoutes(app: App, deps: Deps): void {
  app.all(mcpGatewayPath, async (c) => {
    const request = requestInfo(deps, c)
    try {
      const asker = await whoAsks(deps, request, c.req.raw)
      // MCP clients take this status for "no such stream", and go on without.
      if (request.method !== 'POST')
        throw new ServiceError('method_not_allowed', 'The gateway has no stream of news and no session to end.', {
          hint: 'POST each request of MCP: each stands for itself.',
        })
      const body = parseJson(await readBody(c.req.raw))
      // The SDK is large, and a server whose agents use no tools need not have it.
      const { answerMcp } = await import('./answer.ts')
      const response = await answerMcp(deps, { asker, raw: c.req.raw, body })
      response.headers.set('x-request-id', request.id)
      return response
    } catch (error) {
      return replyError(error, request, deps)
    }
  })
}
