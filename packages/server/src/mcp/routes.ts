/** The MCP gateway over streamable HTTP. Not a contract route, because MCP defines its bodies. */
import { mcpGatewayPath, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { parseJson, readBody } from '../http/bodies/body.ts'
import { type App, requestInfo } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { identifyCaller } from './caller.ts'

export function mcpRoutes(app: App, deps: Deps): void {
  app.all(mcpGatewayPath, async (c) => {
    const request = requestInfo(deps, c)
    try {
      const caller = await identifyCaller(deps, request, c.req.raw)
      // MCP clients read this status as "no stream" and continue without one.
      if (request.method !== 'POST')
        throw new ServiceError('method_not_allowed', 'The MCP gateway supports only POST.', {
          hint: 'POST each MCP request. The gateway has no event stream and no sessions.',
        })
      const body = parseJson(await readBody(c.req.raw))
      // Loaded on demand: the SDK is large, and many servers never use it.
      const { answerMcp } = await import('./answer.ts')
      const response = await answerMcp(deps, { caller, raw: c.req.raw, body })
      response.headers.set('x-request-id', request.id)
      return response
    } catch (error) {
      return replyError(error, request, deps)
    }
  })
}
