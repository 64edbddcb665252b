import { examineServerRoute } from '@svc/contract'
import { requireInstanceOwner } from '../accounts/change.ts'
import { readTogether } from '../db/read-together.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { examineService, group } from './examine-service.ts'

export function doctorRoutes(deps: Deps): Mounted[] {
  const { db, config, serverName } = deps
  return [
    handle(examineServerRoute, async ({ caller }) => {
      await requireInstanceOwner(db, caller.actor.user_id, 'examine the server')
      // It asks the database, the model and the hosts, so impatient readers share one examination.
      return readTogether(db, 'doctor', async () => ({
        server: config.peerUrl === null ? null : serverName,
        examined_at: deps.now().toISOString(),
        groups: [...(await sandboxGroup(deps)), ...(await examineService({ config, db }))],
      }))
    }),
  ]
}

async function sandboxGroup({ sandboxes }: Pick<Deps, 'sandboxes'>) {
  if (sandboxes === null) return []
  return [await group(`sandboxes: ${sandboxes.name}`, [sandboxes.examine()])]
}
