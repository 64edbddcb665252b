/** Every error of the service. The class decides the HTTP status; programs decide by the code. */

export const statusOfClass = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  limit_reached: 429,
  unprocessable: 422,
  unavailable: 503,
  internal: 500,
} as const

export type ErrorClass = keyof typeof statusOfClass

/** Narrower codes, each with its class. Add one only if a program would act differently on it. */
export const classOfCode = {
  agent_not_found: 'invalid',
  ref_not_found: 'invalid',
  model_not_found: 'invalid',
  reserved_name: 'invalid',
  repository_refused: 'invalid',
  agent_merge_forbidden: 'forbidden',
  spend_cap_reached: 'forbidden',
  confirmation_needed: 'forbidden',
  merge_conflict: 'conflict',
  merge_rejected: 'conflict',
  branch_protected: 'conflict',
  head_moved: 'conflict',
  base_moved: 'conflict',
  ref_missing: 'conflict',
  not_open: 'conflict',
  work_not_saved: 'conflict',
  no_model: 'conflict',
  idempotency_mismatch: 'conflict',
  idempotency_in_progress: 'conflict',
  concurrent_session_limit: 'limit_reached',
  manifest_invalid: 'unprocessable',
  body_too_large: 'invalid',
  request_timeout: 'invalid',
  quota_exceeded: 'limit_reached',
  method_not_allowed: 'invalid',
  base_busy: 'unavailable',
  repository_fetching: 'unavailable',
  repository_unreachable: 'unavailable',
  preview_unreachable: 'unavailable',
  runtime_booting: 'unavailable',
  model_not_configured: 'unavailable',
  model_upstream_failed: 'unavailable',
} as const satisfies Record<string, ErrorClass>

export type ErrorCode = ErrorClass | keyof typeof classOfCode

/** Codes for which HTTP has a more specific status than their class. */
const statusOfCode: Partial<Record<ErrorCode, number>> = {
  body_too_large: 413,
  request_timeout: 408,
  quota_exceeded: 413,
  method_not_allowed: 405,
  repository_unreachable: 502,
  preview_unreachable: 502,
  model_upstream_failed: 502,
}

export function errorStatus(code: ErrorCode): number {
  return statusOfCode[code] ?? statusOfClass[errorClass(code)]
}

export function errorClass(code: ErrorCode): ErrorClass {
  return code in classOfCode ? classOfCode[code as keyof typeof classOfCode] : (code as ErrorClass)
}

export interface ErrorBody {
  error: string
  code: string
  hint?: string
  [fact: string]: unknown
}

/** An error that clients handle. The client rebuilds the same error from the response. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly hint: string | null
  readonly detail: Record<string, unknown>
  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; detail?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.hint = options.hint ?? null
    this.detail = options.detail ?? {}
  }

  toBody(): ErrorBody {
    return { error: this.message, code: this.code, ...(this.hint === null ? {} : { hint: this.hint }), ...this.detail }
  }
}

/** A bug of the service. The log has it; the user never sees it. */
export class InvariantError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InvariantError'
  }
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
