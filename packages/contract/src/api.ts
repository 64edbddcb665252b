/** The typed client of the API. It uses the document's types only, so a program loads no schema when it starts. */
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './api.gen.ts'

/** Routes with several media types have the type of their JSON. */
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
