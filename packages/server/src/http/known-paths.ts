/** Which methods a path of the API answers. */
import type { Method, Route } from '@svc/contract'
import { routes } from '@svc/contract/openapi'

export function patternOf({ path }: Pick<Route, 'path'>): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`)
}

const known = routes.map((route) => ({ method: route.method, pattern: patternOf(route) }))

export function methodsOf(path: string): Method[] {
  return [...new Set(known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
}
