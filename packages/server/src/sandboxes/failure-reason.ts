import { ServiceError } from '@svc/contract'
import { SandboxError } from '@svc/sandbox'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { WorkloadDaemonError } from './workload-daemon.ts'

/** The request cannot succeed, and a retry changes nothing. The message is for a person. */
export class PermanentFailure extends Error {}

/** The same request may succeed in a moment: the database, the server with the copy or a git host did not answer. */
export function isPassing(error: unknown): boolean {
  return isDatabaseUnavailable(error) || (error instanceof ServiceError && error.code === 'unavailable')
}

/**
 * The sentence that a session, a deploy or a check shows for why it failed, with the hint that fixes it. `doing`
 * completes "while …"; `memory` is what the driver knows about memory pressure in the sandbox.
 */
export function failureReason(error: unknown, doing: string, memory: string | null = null): string {
  const reason = withoutMemory(error, doing)
  return memory === null ? reason : `${reason} The sandbox ran ${memory}.`
}

function withoutMemory(error: unknown, doing: string): string {
  if (error instanceof SandboxError || error instanceof ServiceError)
    return error.hint === null ? error.message : `${error.message} ${error.hint}`
  if (error instanceof PermanentFailure || error instanceof WorkloadDaemonError) return error.message
  if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return 'The disk of the server is full.'
  if (isDatabaseUnavailable(error)) return `The database was unavailable while ${doing}. Try again.`
  return `An internal error occurred while ${doing}; see the server log.`
}
