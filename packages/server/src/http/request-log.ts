import { ServiceError } from '@svc/contract'
import type { Context, MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import type { Deps } from '../deps.ts'
import { cutWhenBroken } from './connections/truncate-broken-stream.ts'
import { errorResponse } from './reply-error.ts'
import { duringRequest } from './request-context.ts'
import type { AppContext, Bindings } from './request-info.ts'
import { clientAddress } from './request-info.ts'
import { idsOf, methodOf } from './request-span.ts'

/** The matched pattern, so that a metric has as many series as there are routes. */
function routeOf(c: Context): string {
  const path = routePath(c, -1)
  return path === '/*' || path === '*' ? 'none' : path
}

/** Nobody gets the answer when the client has left: 499, as proxies count it, and no failure of the server. */
function statusOf({ req, res }: Context): number {
  return res.status >= 500 && req.raw.signal.aborted ? 499 : res.status
}

const urlBytesMax = 16 * 1024

/** Gives every request its id and one log line. Paths only: a query can hold secrets. */
export function requestLog(
  deps: Pick<Deps, 'log' | 'metrics' | 'newId' | 'tracing'>,
): MiddlewareHandler<{ Bindings: Bindings; Variables: { requestId: string } }> {
  return async (c, next) => {
    const started = performance.now()
    const id = deps.newId()
    c.set('requestId', id)
    if (c.req.url.length > urlBytesMax)
      return errorResponse(new ServiceError('invalid', 'The URL of this request is too long.'), id)
    await traced(deps, c, id, async () => {
      await duringRequest({ id, path: c.req.path }, next)
      const answer = cutWhenBroken(c.res, (error) => {
        deps.log.warn({ request_id: id, err: error, path: c.req.path }, 'a response was cut off')
        const outgoing = (c.env as Partial<Bindings> | undefined)?.outgoing
        outgoing?.destroy()
        return { isCut: outgoing !== undefined }
      })
      // Assigning it turns a text into a stream.
      if (answer !== c.res) c.res = answer
      const seconds = (performance.now() - started) / 1000
      deps.metrics.request({ method: methodOf(c.req.method), route: routeOf(c), status: statusOf(c) }, seconds)
      deps.log.debug(
        {
          request_id: id,
          method: c.req.method,
          path: c.req.path,
          status: statusOf(c),
          ms: Math.round(seconds * 10_000) / 10,
          address: clientAddress(c as AppContext),
        },
        'request',
      )
    })
  }
}

/** Until the response starts, as the metric of requests. Only another server may name the trace that it goes on in. */
function traced(deps: Pick<Deps, 'tracing'>, c: Context, id: string, answer: () => Promise<void>): Promise<void> {
  const method = methodOf(c.req.method)
  const parent = (c.env as Partial<Bindings> | undefined)?.incoming?.svcTrace ?? 'none'
  const attributes = { ...idsOf(c.req.path), 'http.request.method': method, 'svc.request_id': id }
  return deps.tracing.span(method, { kind: 'server', parent, attributes }, async (span) => {
    await answer()
    const { status } = c.res
    const route = routeOf(c)
    if (route !== 'none') {
      span.rename(`${method} ${route}`)
      span.set({ 'http.route': route })
    }
    span.set({ 'http.response.status_code': status })
    if (status >= 500) span.fail(String(status))
  })
}
