/** Errors of commands, besides ServiceError for a refusal by the service. Only run.ts maps them to exit codes. */
import type { ServiceError } from '@svc/contract/errors'

interface Guidance {
  hint?: string | null | undefined
  next?: readonly string[]
  lines?: readonly string[]
  cause?: unknown
}

/** An error that says what to do. */
class AdvisedError extends Error {
  readonly hint: string | null
  readonly next: readonly string[]
  readonly lines: readonly string[]
  constructor(message: string, { hint = null, next = [], lines = [], cause }: Guidance = {}) {
    super(message, { cause })
    this.hint = hint
    this.next = next
    this.lines = lines
  }
}

/** The command line is invalid. */
export class UsageError extends AdvisedError {
  override readonly name = 'UsageError'
}

type RefusalCode =
  | 'no_project'
  | 'no_token'
  | 'bad_token'
  | 'unknown_host'
  | 'host_not_in_build'
  | 'unreachable'
  | 'bad_answer'
  | 'config_broken'
  | 'link_broken'
  | 'not_found'
  | 'ambiguous'
  | 'cancelled'
  | 'not_available'
  | 'session_failed'
  | 'session_stopped'
  | 'prompt_failed'
  | 'prompt_cancelled'
  | 'turn_failed'
  | 'deploy_failed'
  | 'checks_failed'
  | 'not_delivered'
  | 'git_failed'
  | 'no_repository'
  | 'nothing_to_push'
  | 'exists'
  | 'refused_names'
  | 'not_verified'
  | 'manifest_invalid'
  | 'no_manifest'
  | 'timed_out'
  | 'bad_name'
  | 'name_taken'
  | 'not_clean'
  | 'another_repository'
  | 'conflicts'
  | 'in_the_way'

/** The client cannot continue; the service refused nothing. */
export class Refusal extends AdvisedError {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly detail: Record<string, unknown>
  constructor(code: RefusalCode, message: string, guidance: Guidance & { detail?: Record<string, unknown> } = {}) {
    super(message, guidance)
    this.code = code
    this.detail = guidance.detail ?? {}
  }
}

/** A refusal of the service with guidance that only the client knows. */
export class Guided extends AdvisedError {
  override readonly name = 'Guided'
  readonly refusal: ServiceError
  constructor(refusal: ServiceError, guidance: Guidance) {
    super(refusal.message, { ...guidance, cause: refusal })
    this.refusal = refusal
  }
}

/** A program that ran for the user exited with this code and has already printed why. */
export class ProgramEnded extends Error {
  readonly code: number
  constructor(code: number) {
    super(`The program ended with ${code}`)
    this.name = 'ProgramEnded'
    this.code = code
  }
}
