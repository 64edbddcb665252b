import { ServiceError } from '@svc/contract'
import { GitError } from '@svc/git'

/** The longest one answer takes: callers give up soon after, and what they wait for may never end. */
export const answerMsMax = 9_000

/** An answer that is being worked on. */
interface Answer {
  /** The refusal when its time is up; null once its commits are here, for then their content is what takes so long. */
  late: (() => ServiceError) | null
}

const answers = new WeakMap<AbortSignal, Answer>()

/** The answer that a signal given by `withinTime` belongs to. */
export function answerOf(signal: AbortSignal): Answer | undefined {
  return answers.get(signal)
}

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
  const answer: Answer = { late: slowRepository }
  const timer = setTimeout(
    () => {
      over.reject(answer.late?.() ?? tooMuch())
      late.abort()
    },
    Math.max(restMsMin, answerMsMax - spentMs),
  )
  const ended = AbortSignal.any([signal, late.signal])
  answers.set(ended, answer)
  const working = withinLimits(work(ended))
  // Once the time is up nobody waits for this any more, so its end must not count as unhandled.
  working.catch(() => {})
  try {
    return await Promise.race([working, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

function slowRepository(): ServiceError {
  return new ServiceError('unavailable', 'The repository does not answer in time.', {
    hint: 'Nothing was changed. Try again in a moment.',
    detail: { retry_after_seconds: 5 },
  })
}

function tooMuch(cause?: GitError): ServiceError {
  return new ServiceError('unprocessable', 'What is asked of this repository takes more than one request may use.', {
    hint: `${cause === undefined ? '' : `${cause.message} `}Its content is too large or too costly to look at here. For a change request: merge the base into the head branch by hand and push it, or split the change.`,
    ...(cause === undefined ? {} : { cause }),
  })
}
