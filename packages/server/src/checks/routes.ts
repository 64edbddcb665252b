import { getChecksRoute, readCheckLogRoute, rerunChecksRoute } from '@svc/contract'
import { readChangeRequest } from '../change-requests/open/refresh-tips.ts'
import { requireChangeRequest } from '../change-requests/store.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { checksOf, readCheckLog } from './read.ts'
import { rerunChecks } from './rerun.ts'

export function checkRoutes(deps: Deps): Mounted[] {
  return [
    handle(getChecksRoute, async ({ project, params }) => checksOf(deps, project, params.crId)),
    handle(rerunChecksRoute, async ({ project, caller, params, body }) => {
      const cr = await readChangeRequest(deps, project, params.crId)
      await rerunChecks(deps, { project, cr, caller, name: body?.name })
      return checksOf(deps, project, cr.cr_id)
    }),
    handle(readCheckLogRoute, async ({ project, params, query }) => {
      const cr = await requireChangeRequest(deps.db, project.project_id, params.crId)
      return readCheckLog(deps, { cr, runId: params.runId, lines: query.lines })
    }),
  ]
}
