import { type RepositoryProgress, ServiceError } from '@svc/contract'
import { fetchObjects, type FetchOutcome, type Repository, runningFetch } from '@svc/git'
import { withDeadline } from '../../deadline.ts'
import { answerMsMax, answerOf } from '../within-limits.ts'

/** For a caller without a time limit of its own. */
const waitMsMax = 8_000
/** A fetch that outlasted one answer outlasts the next one too, so answer soon with its current progress. */
const outlastedMs = 1_000
const retryAfterSeconds = 2

/**
 * Fetches commits from the host, for one request. The first fetch of a large repository outlasts a request: it continues
 * when the request ends, and later requests wait for the same fetch.
 */
export async function fetchForRequest(
  repository: Repository,
  shas: string[],
  signal: AbortSignal,
): Promise<FetchOutcome> {
  signal.throwIfAborted()
  const answer = answerOf(signal)
  if (answer !== undefined) answer.late = () => stillFetching(repository)
  const late = () => {
    throw stillFetching(repository)
  }
  const timeMs = waitMs(repository, answer === undefined)
  const fetched = await withDeadline(fetchObjects(repository, shas), timeMs, late, { signal })
  if (answer !== undefined) answer.late = null
  return fetched
}

/** Beyond this the answer itself is late, if there is one. */
function waitMs({ dir }: Repository, isAlone: boolean): number {
  const running = runningFetch(dir)
  if (running !== null && performance.now() - running.beganAt > answerMsMax) return outlastedMs
  return isAlone ? waitMsMax : answerMsMax
}

function stillFetching({ dir }: Repository): ServiceError {
  const running = runningFetch(dir)
  const progress: RepositoryProgress | null =
    running === null ? null : { is_first: running.isFirst, ...running.progress }
  const message =
    progress?.is_first === true
      ? 'The repository is being fetched for the first time.'
      : 'New commits are still being fetched from the git host.'
  return new ServiceError('repository_fetching', message, {
    hint: 'The fetch continues on the server. Try again in a moment.',
    detail: { retry_after_seconds: retryAfterSeconds, progress },
  })
}
