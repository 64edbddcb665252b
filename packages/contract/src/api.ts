/** The typed client of the API: types only from the document, so that a program's start loads no schema. */
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './api.gen.ts'

/** A route that also streams or answers text is typed by its JSON. */
export type ApiClient = Client<paths, 'application/json'>
export type { components, paths, operations } from './api.gen.ts'

/** `base` ends before `/v1`. */
export function createApiClient(options: {
  base: string
  headers: Record<string, string>
  fetch?: (request: Request) => Promise<Response>
}): ApiClient {
  return createClient<paths, 'application/json'>({
    baseUrl: options.base,
    headers: options.headers,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  })
}
