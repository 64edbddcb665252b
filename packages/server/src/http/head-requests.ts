import type { MiddlewareHandler } from 'hono'

/**
 * The router answers HEAD with the route of GET and leaves the body out, without a word to what makes it. A streamed body
 * has a process or a connection behind it, which ends when the body is cancelled.
 */
export function withoutBodies(): MiddlewareHandler {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
