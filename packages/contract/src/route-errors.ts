/** The error codes a route can answer with: those that follow from its shape, and those it declares. */
import type { ErrorCode } from './errors.ts'
import type { Route } from './route.ts'

/** Every request passes the host allow list, the limit on its URL, the database and the disk. */
const anyRoute: ErrorCode[] = ['invalid', 'forbidden', 'unavailable', 'internal']

/** The codes of routes that read the project's repository, which may have to fetch it first. */
export const repositoryErrors = [
  'ref_not_found',
  'repository_refused',
  'repository_fetching',
  'repository_unreachable',
  'base_busy',
] as const satisfies ErrorCode[]

/** The codes of routes that start a session. */
export const startErrors = [
  'concurrent_session_limit',
  'no_model',
  'model_not_found',
  'agent_not_found',
] as const satisfies ErrorCode[]

/** The codes of routes that merge, beyond those of the repository. */
export const mergeErrors = [
  'merge_conflict',
  'merge_rejected',
  'branch_protected',
  'head_moved',
  'base_moved',
  'ref_missing',
  'not_open',
] as const satisfies ErrorCode[]

type RouteShape = Pick<Route, 'path' | 'access' | 'effect' | 'body' | 'idempotent' | 'stream'> & {
  errors: readonly ErrorCode[]
}

export function errorsOfRoute({ path, access, effect, body, idempotent, stream, errors }: RouteShape): ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      ...anyRoute,
      ...(access === 'public' ? [] : (['unauthenticated'] as const)),
      ...(path.includes('/:') ? (['not_found'] as const) : []),
      // A slug that several of the caller's accounts hold names no project.
      ...(path.includes('/:projectId') ? (['conflict'] as const) : []),
      ...(body !== null ? (['body_too_large', 'request_timeout'] as const) : []),
      ...(idempotent ? (['idempotency_mismatch', 'idempotency_in_progress'] as const) : []),
      // Writes of an agent are counted, and so are open streams.
      ...(effect === 'adds' || stream ? (['limit_reached'] as const) : []),
      ...errors,
    ]),
  ]
}
