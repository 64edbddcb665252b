import { type RepositoryProgress, ServiceError } from '@svc/contract'
import { bringObjects, type BringOutcome, type Repository, runningFetch } from '@svc/git'
import { answerMsMax, answerOf } from './within-limits.ts'

/** For a caller without a time limit of its own. */
const waitMsMax = 8_000
/** A fetch that outlasted one answer outlasts the next one too, which is better soon than with an old progress. */
const outlastedMs = 1_000
const retryAfterSeconds = 2

/**
 * Fetches commits from the host, for one request. The first fetch of a large repository outlasts a request: it continues
 * when the request ends, and later requests wait for the same fetch.
 */
export async function bring(repository: Repository, shas: string[], signal: AbortSignal): Promise<BringOutcome> {
  signal.throwIfAborted()
  const answer = answerOf(signal)
  const end = Promise.withResolvers<never>()
  const late = () => end.reject(stillFetching(repository))
  const timer = setTimeout(late, waitMs(repository, answer === undefined))
  const leave = () => end.reject(signal.reason as Error)
  signal.addEventListener('abort', leave, { once: true })
  if (answer !== undefined) answer.late = () => stillFetching(repository)
  const bringing = bringObjects(repository, shas)
  bringing.catch(() => {})
  try {
    const brought = await Promise.race([bringing, end.promise])
    if (answer !== undefined) answer.late = null
    return brought
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

/** Past this the answer itself is late, where there is one. */
function waitMs({ dir }: Repository, isAlone: boolean): number {
  const running = runningFetch(dir)
  if (running !== null && performance.now() - running.beganAt > answerMsMax) return outlastedMs
  return isAlone ? waitMsMax : answerMsMax
}

function stillFetching({ dir }: Repository): ServiceError {
  const running = runningFetch(dir)
  const progress: RepositoryProgress | null =
    running === null ? null : { is_first: running.isFirst, ...running.progress }
  const words =
    progress?.is_first === true
      ? 'The repository is being fetched for the first time.'
      : 'New commits are still being fetched from the git host.'
  return new ServiceError('repository_fetching', words, {
    hint: 'The fetch continues on the server. Try again in a moment.',
    detail: { retry_after_seconds: retryAfterSeconds, progress },
  })
}
