/** The typed client of the API: types only from the document, so that a program's start loads no schema. */
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './api.gen.ts'

export type ApiClient = Client<paths>
export type { paths, operations } from './api.gen.ts'

/** `base` ends before `/v1`. */
export function createApiClient(options: {
  base: string
  headers: Record<string, string>
  fetch?: (request: Request) => Promise<Response>
}): ApiClient {
  return createClient<paths>({
    baseUrl: options.base,
    headers: options.headers,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  })
}
