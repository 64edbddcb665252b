/** What a command can end with beside a ServiceError, which is a refusal of the service. run.ts alone turns them into exit codes. */
import type { ServiceError } from '@svc/contract/errors'

interface Guidance {
  /** What to do about it, for a person. */
  hint?: string
  /** Commands that are worth running next. */
  next?: readonly string[]
  cause?: unknown
}

/** The command line itself is wrong. */
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

export type RefusalCode =
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

/** The client itself cannot go on: nothing was refused by the service. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly hint: string | null
  readonly next: readonly string[]
  readonly detail: Record<string, unknown>
  /** Facts for a person, one per line. */
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

/** A refusal of the service with what the client adds, because only it knows what was meant. */
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
