import * as contract from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { closeChangeRequest } from './open/close.ts'
import { deletionOf } from './deletion.ts'
import { diffChangeRequest, type DiffOptions } from './preview/diff.ts'
import { editChangeRequest } from './open/edit.ts'
import { createFirstCommit } from './open/first-commit.ts'
import { readingGuide } from './review/reading-guide.ts'
import { mergeChangeRequest } from './merge/merge.ts'
import { verificationFailures } from './effects/added-secrets.ts'
import { openChangeRequest } from './open/open.ts'
import { proposeFile } from './open/propose-file.ts'
import { readOrigins } from './origins/read-origins.ts'
import { previewChangeRequest } from './preview/preview.ts'
import { getPullRequest, openHostPullRequest } from './merge/pull-request.ts'
import { listWithTips, readChangeRequest } from './open/refresh-tips.ts'
import { reopenChangeRequest } from './open/reopen.ts'
import { listChangeRequests } from './list/list-store.ts'
import { readSummaries } from './list/summaries.ts'
import { presentChangeRequest } from './store.ts'
import { verifyChangeRequest } from './merge/verify.ts'
import { withinTime } from '../projects/within-limits.ts'

export function changeRequestRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listChangeRequestsRoute, async ({ project, query }) => {
      const read = () => listChangeRequests(deps.db, project.project_id, query)
      const { rows, next } = await listWithTips(deps, project, read)
      const summaries = query.include === 'summary' && {
        summaries: await readSummaries(deps, project.project_id, rows),
      }
      return new Page({ change_requests: rows.map(presentChangeRequest), ...summaries }, next)
    }),
    handle(contract.openChangeRequestRoute, async ({ project, caller, body, request }) => {
      const { resourceId: crId, signal } = request
      const cr = await openChangeRequest(deps, { ...body, project, caller, crId, signal })
      request.warnings.push(...(await verificationFailures(deps, { project, caller, cr, signal })))
      return presentChangeRequest(cr)
    }),
    handle(contract.getChangeRequestRoute, async ({ project, params }) => ({
      change_request: presentChangeRequest(await readChangeRequest(deps, project, params.crId)),
    })),
    handle(contract.editChangeRequestRoute, async ({ project, caller, params, body }) =>
      presentChangeRequest(await editChangeRequest(deps, { ...body, ...params, project, caller })),
    ),
    handle(contract.diffChangeRequestRoute, async ({ project, params, query, request: { headers, signal } }) =>
      withinTime(signal, (signal) =>
        diffChangeRequest(deps, {
          ...diffOptions({ ...params, project, query }),
          accept: headers.get('accept'),
          signal,
        }),
      ),
    ),
    handle(contract.getReadingGuideRoute, async ({ project, params, query, request: { signal } }) =>
      withinTime(signal, (signal) => readingGuide(deps, { ...diffOptions({ ...params, project, query }), signal })),
    ),
    handle(contract.getOriginsRoute, async ({ project, caller, params, query, request: { signal } }) =>
      withinTime(signal, (signal) => readOrigins(deps, { ...params, ...query, project, caller, signal })),
    ),
    handle(contract.previewChangeRequestRoute, async ({ project, caller, params, query, request: { signal } }) =>
      withinTime(signal, (signal) =>
        previewChangeRequest(deps, { ...params, project, caller, include: query.include, signal }),
      ),
    ),
    handle(contract.verifyChangeRequestRoute, async ({ project, params, request: { signal } }) =>
      withinTime(signal, (signal) => verifyChangeRequest(deps, { ...params, project, signal })),
    ),
    handle(
      contract.mergeChangeRequestRoute,
      async ({ project, caller, params, body, request: { idempotencyKey, signal } }) =>
        mergeChangeRequest(deps, { ...body, ...params, project, caller, idempotencyKey, signal }),
    ),
    handle(contract.getPullRequestRoute, async ({ project, params }) => getPullRequest(deps, { ...params, project })),
    handle(contract.openPullRequestRoute, async ({ project, caller, params, request: { signal } }) =>
      openHostPullRequest(deps, { ...params, project, caller, signal }),
    ),
    handle(contract.closeChangeRequestRoute, async ({ project, caller, params }) =>
      presentChangeRequest(await closeChangeRequest(deps, { ...params, project, caller })),
    ),
    handle(contract.reopenChangeRequestRoute, async ({ project, caller, params }) =>
      presentChangeRequest(await reopenChangeRequest(deps, { ...params, project, caller })),
    ),
    // The rules of an edit read secrets and sessions, so it belongs here and not to projects.
    handle(contract.proposeFileRoute, async ({ project, caller, body, request: { resourceId: crId, signal } }) =>
      presentChangeRequest(await proposeFile(deps, { ...body, project, caller, crId, signal })),
    ),
    handle(contract.createFirstCommitRoute, async ({ project, caller, body, request: { signal } }) =>
      createFirstCommit(deps, { ...body, project, caller, signal }),
    ),
    // Counts change requests, so it belongs here and not to projects.
    handle(contract.getProjectDeletionRoute, async ({ project }) => deletionOf(deps, project)),
  ]
}

function diffOptions({
  project,
  crId,
  query,
}: Pick<DiffOptions, 'project' | 'crId'> & {
  query: { renames: string; ignore_whitespace: string; since?: string | undefined; to?: string | undefined }
}) {
  return {
    ...{ project, crId, renames: query.renames === '1', ignoreWhitespace: query.ignore_whitespace === '1' },
    ...{ since: query.since ?? null, to: query.to ?? null },
  }
}
