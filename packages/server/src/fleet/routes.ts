import { listUncopiedRoute, takeOverServerRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { uncopiedProjects } from '../projects/replicas/store.ts'
import { requireInstanceOwner } from '../accounts/change.ts'
import { takeOverServer } from './take-over.ts'

export function copyRoutes(deps: Deps): Mounted[] {
  return [
    handle(takeOverServerRoute, ({ params, body, caller }) =>
      takeOverServer(deps, { accept_loss: false, ...body, caller, serverName: params.serverName }),
    ),
    handle(listUncopiedRoute, async ({ caller }) => {
      await requireInstanceOwner(deps.db, caller.actor.user_id, 'list copies')
      const deadAfterSeconds = deps.heartbeat.deadAfterSeconds()
      const mode = deps.replicas.mode
      if (mode === 'none') return { mode, count: 0, projects: [] }
      return { mode, ...(await uncopiedProjects(deps.db, { deadAfterSeconds })) }
    }),
  ]
}
