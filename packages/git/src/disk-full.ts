import { GitError } from './git.ts'

/** What git and the system say when there is no room left; what a host says of its own disk comes behind `remote:`. */
const words = /^(?!remote:).*(?:No space left on device|Disk quota exceeded)/m

export function isDiskFull(error: unknown): boolean {
  if (error instanceof GitError) return words.test(error.stderr) || isDiskFull(error.cause)
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOSPC' || code === 'EDQUOT'
}
