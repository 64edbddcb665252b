/** The part of the API that answers inside a sandbox. Everything else, signing in above all, is refused there. */
import { type Access, type Route, ServiceError } from '@svc/contract'
import { routes } from '@svc/contract/openapi'
import type { MiddlewareHandler } from 'hono'
import { hasDashboardCookie } from '../cookies.ts'
import { errorResponse } from '../reply-error.ts'
import { patternOf } from '../known-paths.ts'
import type { Bindings } from '../request-info.ts'

/** Access levels that a project token or a sandbox's service key can have. */
const openToSandboxes: Record<Access, boolean> = {
  token: true,
  'project-read': true,
  'project-write': true,
  sandbox: true,
  public: false,
  account: false,
  'account-read': false,
  'account-admin': false,
  user: false,
  'project-admin': false,
}

/** People answer the questions of agents and edit files in the browser, and no person calls the API from inside a sandbox. */
const closedByName = new Set(['answerQuestion', 'proposeFile', 'createFirstCommit'])

/** Handlers outside the contract that sandboxes use. */
const otherPaths = [
  /^\/v1\/openapi\.json$/,
  /^\/v1\/projects\/[^/]+\/git\//,
  /^\/v1\/llm\//,
  /^\/v1\/mcp(\/|$)/,
  /^\/v1\/(sandboxes|p)\//,
  // From inside a sandbox it requires the token of the caller's session, as it starts a child session.
  /^\/v1\/projects\/[^/]+\/triggers\/[^/]+\/webhook$/,
]

export function answersInSandbox(route: Pick<Route, 'name' | 'access' | 'publicInSandbox'>): boolean {
  return !closedByName.has(route.name) && (openToSandboxes[route.access] || route.publicInSandbox)
}

export function refuseInSandbox(): MiddlewareHandler<{
  Bindings: Bindings
  Variables: { requestId: string }
}> {
  const open = routes.filter(answersInSandbox).map((route) => ({ method: route.method, pattern: patternOf(route) }))
  return async (c, next) => {
    if (c.env?.incoming?.svcFromSandbox !== true) return next()
    const { path } = c.req
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method
    const isOpen =
      otherPaths.some((each) => each.test(path)) ||
      open.some((each) => each.method === method && each.pattern.test(path))
    // People sign in with a browser, and none of theirs runs in a sandbox.
    if (isOpen && !hasDashboardCookie(c.req.header('cookie'))) return next()
    const message = isOpen
      ? 'Dashboard cookies are not accepted inside a sandbox.'
      : 'This route does not answer inside a sandbox.'
    const hint = 'Use the routes of the project with SVC_CLI_TOKEN.'
    return errorResponse(new ServiceError('forbidden', message, { hint }), c.get('requestId'))
  }
}
