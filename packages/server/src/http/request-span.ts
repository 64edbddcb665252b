/** The span of a request: its method and the pattern of its route, never its path, query or headers. */
import type { SpanAttributes } from '../tracing/tracing.ts'
import { idsInPath } from './request-context.ts'

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A caller may send any word as its method. */
export const methodOf = (method: string) => (knownMethods.has(method) ? method : 'other')

export function idsOf(path: string): SpanAttributes {
  const { project, session, cr } = idsInPath(path)
  return {
    ...(project === undefined ? {} : { 'svc.project_id': project.toLowerCase() }),
    ...(session === undefined ? {} : { 'svc.session_id': session.toLowerCase() }),
    ...(cr === undefined ? {} : { 'svc.change_request_id': cr.toLowerCase() }),
  }
}
