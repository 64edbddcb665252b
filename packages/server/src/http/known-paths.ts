/** The methods that a path of the API answers. */
import type { Method, Route } from '@svc/contract'
import { routes } from '@svc/contract/openapi'

export function patternOf({ path }: Pick<Route, 'path'>): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`)
}

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** A part that cannot be an id makes the path unknown. A project may be named by its slug. */
const known = routes.map((route) => ({
  method: route.method,
  pattern: patternOf({
    path: route.path.replace(':projectId', `(?:${uuid}|[a-z0-9][a-z0-9-]*)`).replaceAll(/:[A-Za-z]+Id\b/g, uuid),
  }),
}))

export function methodsOf(path: string): Method[] {
  return [...new Set(known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
}
