import { ServiceError } from '@svc/contract'
import type { MiddlewareHandler } from 'hono'
import type { Deps } from '../deps.ts'
import { cutWhenBroken } from './cut-answer.ts'
import { errorResponse } from './reply-error.ts'
import type { AppContext, Bindings } from './request-info.ts'
import { clientAddress } from './request-info.ts'

const urlBytesMax = 16 * 1024

/** Gives every request its id and one line in the log. Paths only: a query can hold what nobody should read twice. */
export function requestLog(
  deps: Pick<Deps, 'log' | 'newId'>,
): MiddlewareHandler<{ Bindings: Bindings; Variables: { requestId: string } }> {
  return async (c, next) => {
    const started = performance.now()
    const id = deps.newId()
    c.set('requestId', id)
    if (c.req.url.length > urlBytesMax)
      return errorResponse(new ServiceError('invalid', 'The address of this request is too long.'), id)
    await next()
    const answer = cutWhenBroken(c.res, (error) => {
      deps.log.warn({ request_id: id, err: error, path: c.req.path }, 'an answer broke off')
      const outgoing = (c.env as Partial<Bindings> | undefined)?.outgoing
      outgoing?.destroy()
      return { isCut: outgoing !== undefined }
    })
    // Setting it makes a stream of what is a text.
    if (answer !== c.res) c.res = answer
    deps.log.debug(
      {
        request_id: id,
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round((performance.now() - started) * 10) / 10,
        address: clientAddress(c as AppContext),
      },
      'request',
    )
  }
}
