import { queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { api, reply } from './api.ts'

export type ModelUpstream = operations['getModelUpstream']['responses'][200]['content']['application/json']

export const models = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => reply(api.GET('/v1/models', { signal })),
  staleTime: 60_000,
  select: (answer) => answer.models,
})

/** Only owners of the instance may read it. */
export const modelUpstream = queryOptions({
  queryKey: ['model-upstream'],
  queryFn: ({ signal }) => reply(api.GET('/v1/models/upstream', { signal })),
})
