import type { Reply } from '../../api.ts'
import { read } from '../../cache/read.ts'

export type ModelUpstream = Reply<'/v1/models/upstream'>

export const models = read(['models'], '/v1/models', {}, { staleTime: 60_000, select: ({ models }) => models })

/** Only owners of the instance may read it. */
export const modelUpstream = read(['model-upstream'], '/v1/models/upstream', {})

export type Examined = Reply<'/v1/doctor'>
export type Storage = Reply<'/v1/storage'>
export type Server = Reply<'/v1/servers'>['servers'][number]

export const examined = read(['doctor'], '/v1/doctor', {}, { staleTime: 60_000 })
export const storage = read(['storage'], '/v1/storage', {}, { staleTime: 60_000 })
export const servers = read(['servers'], '/v1/servers', {}, { select: ({ servers }) => servers })
