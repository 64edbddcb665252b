import * as contract from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted } from '../../http/mount.ts'
import { drainServer, listServers } from './servers.ts'
import { homeOfProject } from './present.ts'
import { cancelMove } from './cancel-move.ts'
import { startMove } from './start-move.ts'

export function serverRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listServersRoute, ({ query, caller }) =>
      listServers(deps, { caller, withProjects: query.include === 'projects' }),
    ),
    handle(contract.drainServerRoute, ({ params, body, caller }) =>
      drainServer(deps, { serverName: params.serverName, off: body?.off ?? false, caller }),
    ),
    handle(contract.getProjectHomeRoute, ({ project }) => homeOfProject(deps, project)),
    handle(contract.moveProjectRoute, async ({ project, body, caller }) => {
      await startMove(deps, { project, to: body.server, isForced: body.force, caller })
      return homeOfProject(deps, project)
    }),
    handle(contract.cancelMoveRoute, async ({ project, caller }) => {
      await cancelMove(deps, project, caller)
      return homeOfProject(deps, project)
    }),
  ]
}
