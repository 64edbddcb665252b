import { ServiceError } from '@svc/contract'
import { bringObjects, type BringOutcome, type Repository } from '@svc/git'

/** A little less than an answer may take, so that this refusal is the one that is read. */
const waitMsMax = 8_000

/**
 * Commits brought from the host, for one request. The first fetch of a large repository outlasts a request: it goes on
 * when whoever asked first is told to come again, and whoever comes again finds it done or still on its way.
 */
export async function bring(repository: Repository, shas: string[], signal: AbortSignal): Promise<BringOutcome> {
  signal.throwIfAborted()
  const end = Promise.withResolvers<never>()
  const timer = setTimeout(() => end.reject(stillFetching()), waitMsMax)
  const leave = () => end.reject(signal.reason as Error)
  signal.addEventListener('abort', leave, { once: true })
  const bringing = bringObjects(repository, shas)
  bringing.catch(() => {})
  try {
    return await Promise.race([bringing, end.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

function stillFetching(): ServiceError {
  return new ServiceError('unavailable', 'The repository is still being fetched from its host.', {
    hint: 'This goes on without you. Try again in a moment.',
    detail: { retry_after_seconds: 5 },
  })
}
