/**
 * Authorizes open connections again while they are open: a token can be revoked or expire, a browser can be signed
 * out, and a member can lose a role. Event streams, terminals, sandboxes, previews and apps use this.
 */
import type { Duplex } from 'node:stream'
import type { ServerResponse } from 'node:http'
import { ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'

type AdmitDeps = Pick<Deps, 'config'>
/** Throws a ServiceError when the caller may not keep the connection open any more. */
type Judge = () => Promise<unknown>

/** The same response, whose body ends once `judge` refuses. */
export function responseWhileAdmitted(deps: AdmitDeps, response: Response, judge: Judge): Response {
  if (response.body === null) return response
  const reader = response.body.getReader()
  let stop = () => {}
  let isCut = false
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stop = judgeAgain(deps, judge, () => {
          isCut = true
          controller.close()
          reader.cancel().catch(ignoreEnded)
        })
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (isCut) return
          if (!done) return controller.enqueue(value)
          stop()
          controller.close()
        } catch (error) {
          stop()
          if (!isCut) controller.error(error)
        }
      },
      async cancel(reason) {
        stop()
        await reader.cancel(reason)
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
  return new Response(body, { status: response.status, headers: response.headers })
}

/** Ends a connection once `judge` refuses. */
export function closeUnlessAdmitted(deps: AdmitDeps, connection: Duplex | ServerResponse, judge: Judge): void {
  const stop = judgeAgain(deps, judge, () => connection.destroy())
  connection.on('close', stop)
}

/** An unavailable database revokes no access. */
function judgeAgain(deps: AdmitDeps, judge: Judge, cut: () => void): () => void {
  let isJudging = false
  let isStopped = false
  const timer = setInterval(() => {
    if (isJudging) return
    isJudging = true
    judge()
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code === 'unavailable' || isStopped) return
        stop()
        cut()
      })
      .finally(() => (isJudging = false))
  }, deps.config.network.limits.judgeEveryMs)
  const stop = () => {
    isStopped = true
    clearInterval(timer)
  }
  return stop
}

/** A stream that was cut may have failed already, and nothing reads it any more. */
function ignoreEnded(): void {}
