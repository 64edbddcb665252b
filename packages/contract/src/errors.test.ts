import { describe, expect, test } from 'bun:test'
import {
  classOfCode,
  errorClass,
  type ErrorCode,
  errorStatus,
  invariant,
  InvariantError,
  ServiceError,
  statusOfClass,
} from './errors.ts'

/** As decisions.md, section 1, and the errors table of spec.md give them. */
const statuses: Record<ErrorCode, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  work_not_saved: 409,
  limit_reached: 429,
  unprocessable: 422,
  unavailable: 503,
  internal: 500,
  agent_not_found: 400,
  ref_not_found: 400,
  model_not_found: 400,
  no_model: 409,
  reserved_name: 400,
  repository_refused: 400,
  body_too_large: 413,
  request_timeout: 408,
  quota_exceeded: 413,
  method_not_allowed: 405,
  agent_merge_forbidden: 403,
  spend_cap_reached: 403,
  confirmation_needed: 403,
  merge_conflict: 409,
  merge_rejected: 409,
  branch_protected: 409,
  head_moved: 409,
  base_moved: 409,
  ref_missing: 409,
  not_open: 409,
  idempotency_mismatch: 409,
  idempotency_in_progress: 409,
  concurrent_session_limit: 429,
  manifest_invalid: 422,
  base_busy: 503,
  repository_fetching: 503,
  repository_unreachable: 502,
  preview_unreachable: 502,
  runtime_booting: 503,
  model_not_configured: 503,
  model_upstream_failed: 502,
}
const codes = [...Object.keys(statusOfClass), ...Object.keys(classOfCode)] as ErrorCode[]

describe('error codes', () => {
  test('this test lists every error code and no other', () => {
    expect(codes.toSorted()).toEqual(Object.keys(statuses).toSorted() as ErrorCode[])
  })

  test.each(codes)('%s has a class, a status and a name that a program can compare', (code) => {
    expect(errorStatus(code)).toBe(statuses[code])
    expect(Object.keys(statusOfClass)).toContain(errorClass(code))
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })
})

describe('the body of an error', () => {
  test('contains the message, the code, the details, and the hint if there is one', () => {
    expect(new ServiceError('not_open', 'It is merged.').toBody()).toEqual({ error: 'It is merged.', code: 'not_open' })
    const full = new ServiceError('head_moved', 'It moved.', { hint: 'Look again.', detail: { head_sha: 'a' } })
    expect(full.toBody()).toEqual({ error: 'It moved.', code: 'head_moved', hint: 'Look again.', head_sha: 'a' })
  })

  test('never contains the cause', () => {
    const cause = new Error('password=hunter2')
    const refusal = new ServiceError('unavailable', 'Away.', { cause })
    expect(JSON.stringify(refusal.toBody())).not.toContain('hunter2')
    expect(refusal.cause).toBe(cause)
  })
})

test('a failed invariant is an internal error, not a refusal', () => {
  invariant(1, 'holds')
  expect(() => invariant(0, 'one is nought')).toThrow(InvariantError)
  expect(() => invariant(null, 'one is nought')).not.toThrow(ServiceError)
})
