import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'

export type ModelUpstream = Reply<'/v1/models/upstream'>

export const models = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => get('/v1/models', {}, signal),
  staleTime: 60_000,
  select: ({ models }) => models,
})

/** Only owners of the instance may read it. */
export const modelUpstream = queryOptions({
  queryKey: ['model-upstream'],
  queryFn: ({ signal }) => get('/v1/models/upstream', {}, signal),
})
