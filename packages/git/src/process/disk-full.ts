import { GitError } from './git.ts'

/** Messages of git and the system about a full disk; a remote host's messages start with `remote:`. */
const messages = /^(?!remote:).*(?:No space left on device|Disk quota exceeded)/m

export function isDiskFull(error: unknown): boolean {
  if (error instanceof GitError) return messages.test(error.stderr) || isDiskFull(error.cause)
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOSPC' || code === 'EDQUOT'
}
