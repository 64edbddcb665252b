import { ServiceError } from '@svc/contract'
import { GitError } from '@svc/git'

/** What one answer may take. Whoever asked has lost patience by then, and what they wait for may never end. */
const answerMsMax = 9_000

/** Content can be made so that git would need more time or memory than one request may have: then it ends with a refusal, and not as a mistake of ours. */
export async function withinLimits<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof GitError) || !['timeout', 'limit', 'output'].includes(error.failure)) throw error
    throw tooMuch(error)
  }
}

/** What is left for the rest of an answer at least, however long its beginning took. */
const restMsMin = 2_000

/**
 * The answer of `work`, or a refusal once it is late; `spentMs` of its time are gone. The signal ends what is done for
 * this request alone; what others share goes on within limits of its own.
 */
export async function withinTime<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  { spentMs = 0 }: { spentMs?: number } = {},
): Promise<T> {
  const late = new AbortController()
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => {
      over.reject(tooMuch())
      late.abort()
    },
    Math.max(restMsMin, answerMsMax - spentMs),
  )
  const working = withinLimits(work(AbortSignal.any([signal, late.signal])))
  // Once the time is up nobody waits for this any more, so its end must not count as unhandled.
  working.catch(() => {})
  try {
    return await Promise.race([working, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

function tooMuch(cause?: GitError): ServiceError {
  return new ServiceError('unprocessable', 'What is asked of this repository takes more than one request may use.', {
    hint: `${cause === undefined ? '' : `${cause.message} `}Its content is too large or too costly to look at here. For a change request: merge the base into the head branch by hand and push it, or split the change.`,
    ...(cause === undefined ? {} : { cause }),
  })
}
