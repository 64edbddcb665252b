import type { Reply } from '../../api.ts'
import { read } from '../../cache/read.ts'

export type ModelUpstream = Reply<'/v1/models/upstream'>

export const models = read(['models'], '/v1/models', {}, { staleTime: 60_000, select: ({ models }) => models })

/** Only owners of the instance may read it. */
export const modelUpstream = read(['model-upstream'], '/v1/models/upstream', {})
