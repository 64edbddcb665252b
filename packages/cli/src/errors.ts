/** Errors of commands, besides ServiceError for a refusal by the service. Only run.ts maps them to exit codes. */
import type { ServiceError } from '@svc/contract/errors'

interface Guidance {
  hint?: string
  next?: readonly string[]
  cause?: unknown
}

/** The command line is invalid. */
export class UsageError extends Error {
  readonly hint: string | null
  readonly next: readonly string[]
  constructor(message: string, guidance: Guidance = {}) {
    super(message, { cause: guidance.cause })
    this.name = 'UsageError'
    this.hint = guidance.hint ?? null
    this.next = guidance.next ?? []
  }
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
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly hint: string | null
  readonly next: readonly string[]
  readonly detail: Record<string, unknown>
  readonly lines: readonly string[]
  constructor(
    code: RefusalCode,
    message: string,
    guidance: Guidance & { detail?: Record<string, unknown>; lines?: readonly string[] } = {},
  ) {
    super(message, { cause: guidance.cause })
    this.name = 'Refusal'
    this.code = code
    this.hint = guidance.hint ?? null
    this.next = guidance.next ?? []
    this.detail = guidance.detail ?? {}
    this.lines = guidance.lines ?? []
  }
}

/** A refusal of the service with guidance that only the client knows. */
export class Guided extends Error {
  readonly refusal: ServiceError
  readonly hint: string
  readonly next: readonly string[]
  readonly lines: readonly string[]
  constructor(refusal: ServiceError, guidance: { hint: string; next: readonly string[]; lines?: readonly string[] }) {
    super(refusal.message, { cause: refusal })
    this.name = 'Guided'
    this.refusal = refusal
    this.hint = guidance.hint
    this.next = guidance.next
    this.lines = guidance.lines ?? []
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
