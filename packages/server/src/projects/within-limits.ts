import { ServiceError } from '@svc/contract'
import { GitError } from '@svc/git'

/** Content can be made so that git would need more time or memory than one request may have: then it ends with a refusal, and not as a mistake of ours. */
export async function withinLimits<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof GitError) || !['timeout', 'limit', 'output'].includes(error.failure)) throw error
    throw new ServiceError('unprocessable', 'Comparing these branches takes more than one request may use.', {
      hint: 'Merge the base into the head branch by hand and push it, or split the change.',
      cause: error,
    })
  }
}
