import { ServiceError } from '@svc/contract'
import { afterRunning, GitError } from '@svc/git'
import { withDeadline } from '../deadline.ts'

/** The time limit of one answer: clients give up soon after, and the work may never end. */
export const answerMsMax = 9_000

interface Answer {
  /** The refusal when its time is up. Null once its commits are present: from then on the content is what takes time. */
  late: (() => ServiceError) | null
}

const answers = new WeakMap<AbortSignal, Answer>()

/** The answer that a signal given by `withinTime` belongs to. */
export function answerOf(signal: AbortSignal): Answer | undefined {
  return answers.get(signal)
}

/** Content can be crafted so that git needs more time or memory than one request may use: that is refused, and is not an internal error. */
export async function withinLimits<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof GitError) || !['timeout', 'limit', 'output'].includes(error.failure)) throw error
    throw tooMuch(error)
  }
}

/** The least time for the rest of an answer, however long its start took. */
const restMsMin = 2_000

/**
 * Resolves as `work` does, or rejects once the answer is late; `spentMs` counts against its time. The signal stops
 * what runs for this request alone; shared work goes on within limits of its own.
 */
export async function withinTime<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  { spentMs = 0 }: { spentMs?: number } = {},
): Promise<T> {
  const failed = new AbortController()
  const answer: Answer = { late: slowRepository }
  const ended = AbortSignal.any([signal, failed.signal])
  answers.set(ended, answer)
  try {
    const ms = Math.max(restMsMin, answerMsMax - spentMs)
    const late = () => {
      throw answer.late?.() ?? (answerMsMax - spentMs < restMsMin ? waitedLong() : tooMuch())
    }
    return await withDeadline(withinLimits(work(ended)), ms, late, { startTimer: afterRunning })
  } catch (error) {
    failed.abort()
    throw error
  }
}

function slowRepository(): ServiceError {
  return new ServiceError('unavailable', 'The repository did not answer in time.', {
    hint: 'Nothing was changed. Try again in a moment.',
    detail: { retry_after_seconds: 5 },
  })
}

/** The content had little of the time. */
function waitedLong(): ServiceError {
  return new ServiceError('unavailable', 'This request waited too long before the server could work on it.', {
    hint: 'Nothing was changed. Try again in a moment.',
    detail: { retry_after_seconds: 5 },
  })
}

/** Without a cause, time was up: on a busy machine that need not be because of the content. */
function tooMuch(cause?: GitError): ServiceError {
  const advice = 'For a change request: merge the base into the head branch by hand and push it, or split the change.'
  if (cause === undefined)
    return new ServiceError('unprocessable', 'This request needs more time than one request may take.', {
      hint: `If the server is busy, try again later. Otherwise the content is too large or too costly to process here. ${advice}`,
    })
  return new ServiceError('unprocessable', 'This request needs more time or memory than one request may use.', {
    hint: `${cause.message} The content is too large or too costly to process here. ${advice}`,
    cause,
  })
}
