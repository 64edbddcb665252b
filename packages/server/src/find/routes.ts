import * as contract from '@svc/contract'
import { isUuid } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { findChangeRequests, findSessions } from './store.ts'

const wordsMax = 10

export function findRoutes({ db }: Pick<Deps, 'db'>): Mounted[] {
  return [
    handle(contract.findWorkRoute, async ({ query: { text, project_id: id }, caller }) => {
      const words = text.toLowerCase().split(/\s+/).slice(0, wordsMax)
      const wanted = { userId: caller.actor.user_id, words, projectId: id !== undefined && isUuid(id) ? id : null }
      const [change_requests, sessions] = await Promise.all([findChangeRequests(db, wanted), findSessions(db, wanted)])
      return { change_requests, sessions }
    }),
  ]
}
