import { ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { ChangeRequestRow } from '../change-requests/store.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { getTree, runAgain, runsOfTree } from './store.ts'

/** Queues one finished check again, or every finished check that did not pass. */
export async function rerunChecks(
  deps: Pick<Deps, 'db'>,
  input: { project: ProjectRow; cr: ChangeRequestRow; caller: Caller; name: string | undefined },
): Promise<void> {
  const { project, cr, caller, name } = input
  if (cr.status !== 'open')
    throw new ServiceError(
      'not_open',
      `This change request is ${cr.status}; checks run only for open change requests.`,
      {
        detail: { status: cr.status },
      },
    )
  const defined = (await getDefaultBranch(deps.db, project.project_id))?.manifest.checks ?? []
  const named = name === undefined ? defined : defined.filter((entry) => entry.name === name)
  if (named.length === 0)
    throw new ServiceError(
      'not_found',
      name === undefined
        ? 'svc.toml of the default branch has no checks.'
        : 'svc.toml of the default branch has no check of that name.',
      { hint: 'GET …/checks lists them.' },
    )
  await deps.db.transaction().execute(async (trx) => {
    const tree = await getTree(trx, cr.cr_id)
    const runs = tree?.tree_sha == null ? [] : await runsOfTree(trx, project.project_id, tree.tree_sha)
    const again: string[] = []
    for (const run of runs) {
      if (!named.some((entry) => entry.name === run.name && entry.command === run.command)) continue
      if (name === undefined && run.status === 'passed') continue
      if (await runAgain(trx, run.run_id)) again.push(run.name)
    }
    const event = auditEvent(project, 'check.rerun', 'change_request', cr.cr_id)
    await recordAudit(trx, caller, { ...event, after: { checks: again } })
  })
}
