/** The error codes a route can answer with: those that follow from its shape, and those it declares. */
import type { ErrorCode } from './errors.ts'
import type { Access, Effect } from './route.ts'

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

interface RouteShape {
  path: string
  access: Access
  effect: Effect | null
  hasBody: boolean
  idempotent: boolean
  stream: boolean
  errors: readonly ErrorCode[]
}

export function errorsOfRoute(shape: RouteShape): ErrorCode[] {
  const { path, access, effect, hasBody, idempotent, stream, errors } = shape
  return [
    ...new Set<ErrorCode>([
      ...anyRoute,
      ...(access === 'public' ? [] : (['unauthenticated'] as const)),
      ...(path.includes('/:') ? (['not_found'] as const) : []),
      // A slug that several of the caller's accounts hold names no project.
      ...(path.includes('/:projectId') ? (['conflict'] as const) : []),
      ...(hasBody ? (['body_too_large', 'request_timeout'] as const) : []),
      ...(idempotent ? (['idempotency_mismatch', 'idempotency_in_progress'] as const) : []),
      // Writes of an agent are counted, and so are open streams.
      ...(effect === 'adds' || stream ? (['limit_reached'] as const) : []),
      ...errors,
    ]),
  ]
}
