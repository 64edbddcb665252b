/** Moves the head branch to the commit of suggestions, under the rules of a push, and records it. */
import { ServiceError } from '@svc/contract'
import { type EditedCommit, filesOfCommit, landMerge, type Repository } from '@svc/git'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge } from '../../projects/acknowledge.ts'
import { writeAtHome } from '../../projects/home-store.ts'
import { requestPoll } from '../../projects/poll-store.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { findAddedSecrets, findingLabel } from '../../secrets/find-added.ts'
import { auditOf } from '../audit.ts'
import { type RecordDeps, withinTransaction } from '../merge/record.ts'
import type { PairDeps } from '../preview/commit-pair.ts'
import { recordChangeRequestEvent } from '../record-event.ts'
import { requireRoom } from '../require-room.ts'
import type { ChangeRequestRow } from '../store.ts'
import { insertReply, recordAnswer, requireComment, resolve } from './thread-store.ts'

export type LandDeps = PairDeps & RecordDeps & Pick<Deps, 'disk'>

interface At {
  project: ProjectRow
  cr: ChangeRequestRow
  repository: Repository
  /** The head that the caller saw. */
  expected: string
}

/** Returns the new head, or null when the branch moved first. Nothing changed when it throws, unless the host did not answer. */
export async function landSuggestions(deps: LandDeps, at: At, made: EditedCommit): Promise<string | null> {
  const { project, cr, repository, expected } = at
  await refuseSecrets(deps, at, made)
  await requireRoom(deps, { project, repository, bytes: made.bytes + treesBytes })
  const objects = await made.keep()
  if (repository.remote === null) {
    const change = { commit: made.sha, parents: [expected], objects }
    const files = { commits: [made.sha], read: () => filesOfCommit(repository, change) }
    await deps.replicas.send(project, repository, [made.sha], { files })
  }
  const outcome = await landMerge(repository, { baseRef: cr.head_ref, baseSha: expected, resultSha: made.sha })
  switch (outcome.kind) {
    case 'landed':
      return made.sha
    case 'moved':
      return null
    case 'rejected':
      throw new ServiceError(
        outcome.isProtected === true ? 'branch_protected' : 'merge_rejected',
        `The repository refused the commit on ${JSON.stringify(cr.head_ref)}: ${outcome.reason}`,
        {
          hint:
            repository.remote === null
              ? 'Nothing was changed. The repository is on this server: tell its operator.'
              : 'Nothing was changed. Allow pushes from this project to that branch, then try again.',
          detail: { reason: outcome.reason },
        },
      )
    case 'full':
      throw outcome.error
    case 'failed':
      throw new ServiceError('repository_unreachable', `The commit did not reach the repository: ${outcome.reason}`, {
        hint: 'Nothing was changed. Try again in a moment.',
      })
    case 'unknown':
      throw new ServiceError(
        'repository_unreachable',
        'The repository became unreachable, so it is not known yet whether it has the commit.',
        { hint: 'Try again once it is reachable: suggestions are applied once.', detail: { reason: outcome.reason } },
      )
    default:
      return outcome satisfies never
  }
}

export function headMoved(
  cr: ChangeRequestRow,
  { expected, headSha }: { expected: string; headSha: string },
): ServiceError {
  return new ServiceError('head_moved', `${JSON.stringify(cr.head_ref)} has changed since you viewed it.`, {
    hint: 'Nothing was changed. Look at its current commits, then apply the suggestion again.',
    detail: { expected_head_sha: expected, head_sha: headSha },
  })
}

/** Another person, or another request of the same one, was first. */
export function alreadyApplied(commentIds: readonly string[], sha: string): ServiceError {
  const what = commentIds.length === 1 ? 'This suggestion was' : 'These suggestions were'
  return new ServiceError('conflict', `${what} applied a moment ago, as commit ${sha.slice(0, 10)}.`, {
    hint: 'Nothing was changed. Load the change request again: the comment names the commit.',
    detail: { commit: sha },
  })
}

async function refuseSecrets(
  deps: LandDeps,
  { project, cr, expected }: At,
  { room, sha }: EditedCommit,
): Promise<void> {
  const outcome = await findAddedSecrets(deps, {
    ...{ project, sessionId: null, repository: room, max: 1 },
    updates: [{ ref: `refs/heads/${cr.head_ref}`, oldSha: expected, newSha: sha }],
    known: async () => [expected],
  })
  if (outcome.kind === 'too-large')
    throw new ServiceError('unprocessable', 'This change is too large to search it for secret values.', {
      hint: 'Nothing was changed. Apply fewer suggestions at once.',
    })
  const [first] = outcome.findings
  if (first === undefined) return
  throw new ServiceError('unprocessable', `${findingLabel(first)}.`, {
    hint: 'Nothing was changed. Leave this suggestion out: secret values may not be in the repository.',
  })
}

/** A tree has entries for all files of its folder. */
const treesBytes = 64 * 1024

/** Answers and resolves the comments in the transaction that acknowledges the new head. */
export async function recordApplied(
  deps: LandDeps,
  { project, cr, caller, repository, expected }: At & { caller: Caller },
  { commentIds, sha, replyIdOf }: { commentIds: string[]; sha: string; replyIdOf: (at: number) => string },
): Promise<void> {
  const at = deps.now()
  const by = caller.actor.user_id
  const write = async (trx: DbOrTransaction) => {
    for (const [index, comment_id] of commentIds.entries()) {
      const isNew = await insertReply(trx, {
        ...{ reply_id: replyIdOf(index), comment_id, text: 'Applied the suggestion.', outcome: 'done' as const },
        ...{ commit_sha: sha, created_by: by, session_id: null, created_at: at },
      })
      // The row decides between two requests that found the same commit.
      const resolved = await resolve(trx, comment_id, { userId: by, at })
      const other = isNew && resolved === null ? (await requireComment(trx, cr.cr_id, comment_id)).comment : null
      if (other !== null && other.commit_sha !== null) throw alreadyApplied(commentIds, other.commit_sha)
      await recordAnswer(trx, comment_id, { outcome: 'done', commit_sha: sha, answered_head_sha: sha, at })
    }
    const after = { comments: commentIds, commit: sha }
    await recordAudit(trx, caller, auditOf(cr, 'apply_suggestions', { before: { head_sha: expected }, after }))
    await recordChangeRequestEvent(trx, 'change_request.updated', cr, caller.actor, { changed: ['reviews'] })
  }
  const inTransaction = (db: DbOrTransaction) => withinTransaction(db, write)
  if (repository.remote === null) {
    const refs = [{ ref: `refs/heads/${cr.head_ref}`, old: expected }]
    await acknowledge(deps, { project, store: repository, refs }, inTransaction)
  } else await writeAtHome(deps, project, inTransaction)
  await requestPoll(deps.db, project.project_id).catch((error: unknown) =>
    deps.log.warn({ err: error, cr_id: cr.cr_id }, 'failed to request a poll; a later poll finds the new head'),
  )
}
