import { examineServerRoute } from '@svc/contract'
import { requireInstanceOwner } from '../accounts/change.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { examineServer } from './examine-server.ts'

export function doctorRoutes(deps: Deps): Mounted[] {
  const { db, config, serverName } = deps
  return [
    handle(examineServerRoute, async ({ caller }) => {
      await requireInstanceOwner(db, caller.actor.user_id, 'examine the server')
      const { drivers, groups } = await examineServer(deps)
      return {
        server: config.peerUrl === null ? null : serverName,
        examined_at: deps.now().toISOString(),
        groups: [...drivers.map(({ name, findings }) => ({ name: `sandboxes: ${name}`, findings })), ...groups],
      }
    }),
  ]
}
