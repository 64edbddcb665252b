/** Answers, replies, and the state of the comments of a review. */
import {
  type answerCommentRoute,
  type BodyOf,
  type replyToCommentRoute,
  type resolveCommentRoute,
  type Review,
  ServiceError,
} from '@svc/contract'
import { hasObjects, isAncestor } from '@svc/git'
import { recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { promptSession } from '../../sessions/conversation/prompt.ts'
import { getSession } from '../../sessions/store.ts'
import { auditOf } from '../audit.ts'
import { commitPair, type PairDeps } from '../preview/commit-pair.ts'
import { recordChangeRequestEvent } from '../record-event.ts'
import { type ChangeRequestRow, requireChangeRequest } from '../store.ts'
import { placeOf, replyPrompt } from './prompt.ts'
import { requireSessionToSend } from './recipient.ts'
import { getReview } from './store.ts'
import { insertReply, recordAnswer, reopenComment, requireComment, resolve, unresolve } from './thread-store.ts'

type PromptDeps = Parameters<typeof promptSession>[0]

interface OfComment {
  project: ProjectRow
  caller: Caller
  crId: string
  commentId: string
}

type Answer = BodyOf<typeof answerCommentRoute> & OfComment & { replyId: string; signal: AbortSignal }

export async function answerComment(deps: PairDeps, input: Answer): Promise<Review> {
  const { caller, outcome, text, commentId } = input
  const { cr, review, comment } = await commentAt(deps, input)
  await requireOwnBranch(deps.db, caller, cr)
  const found =
    outcome === 'done'
      ? await commitOf(deps, { ...input, cr, reviewed: review.head_sha })
      : { commit: null, head: null }
  const at = deps.now()
  await deps.db.transaction().execute(async (trx) => {
    const isNew = await insertReply(trx, {
      ...{ reply_id: input.replyId, comment_id: commentId, text, outcome, commit_sha: found.commit },
      ...{ created_by: caller.actor.user_id, session_id: boundSession(caller.actor), created_at: at },
    })
    if (!isNew) return
    const head = found.head ?? cr.head_commit_sha ?? review.head_sha
    await recordAnswer(trx, commentId, { outcome, commit_sha: found.commit, answered_head_sha: head, at })
    const before = { outcome: comment.outcome }
    await recordAudit(trx, caller, auditOf(cr, 'answer_comment', { before, after: { comment_id: commentId, outcome } }))
    await changed(trx, cr, caller)
  })
  return (await getReview(deps.db, review.review_id))!
}

type Reply = BodyOf<typeof replyToCommentRoute> & OfComment & { replyId: string }

/** A reply that is sent opens the comment again, in the transaction of its prompt. */
export async function replyToComment(deps: PromptDeps, input: Reply): Promise<Review> {
  const { caller, text, commentId, replyId } = input
  const { cr, review, comment, written } = await commentAt(deps, input)
  await requireOwnBranch(deps.db, caller, cr)
  const sessionId = boundSession(caller.actor)
  if (input.send && sessionId !== null)
    throw new ServiceError('forbidden', 'An agent cannot send a reply to a session.', {
      hint: 'Leave out `send`: the reviewer sees the reply.',
    })
  const save = async (trx: DbOrTransaction) => {
    const isNew = await insertReply(trx, {
      ...{ reply_id: replyId, comment_id: commentId, text, outcome: null, commit_sha: null },
      ...{ created_by: caller.actor.user_id, session_id: sessionId, created_at: deps.now() },
    })
    if (!isNew) return
    if (input.send) await reopenComment(trx, commentId)
    await recordAudit(
      trx,
      caller,
      auditOf(cr, 'reply_to_comment', { after: { comment_id: commentId, sent: input.send } }),
    )
    await changed(trx, cr, caller)
  }
  if (input.send) {
    const session = await requireSessionToSend(deps.db, cr)
    const place = written === null ? null : placeOf(written)
    const prompt = replyPrompt(cr, { comment_id: comment.comment_id, place }, text)
    await promptSession(deps, { session, caller, promptId: replyId, text: prompt, instead: save })
  } else await deps.db.transaction().execute(save)
  return (await getReview(deps.db, review.review_id))!
}

type Resolve = BodyOf<typeof resolveCommentRoute> & OfComment

export async function resolveComment(deps: Pick<PromptDeps, 'db' | 'now'>, input: Resolve): Promise<Review> {
  const { caller, commentId, resolved } = input
  const { cr, review } = await commentAt(deps, input)
  refuseAgent(caller, 'An agent cannot resolve comments.')
  await deps.db.transaction().execute(async (trx) => {
    const isChanged = resolved
      ? (await resolve(trx, commentId, { userId: caller.actor.user_id, at: deps.now() })) !== null
      : await unresolve(trx, commentId)
    if (!isChanged) return
    const after = { comment_id: commentId, resolved }
    await recordAudit(trx, caller, auditOf(cr, 'resolve_comment', { before: { resolved: !resolved }, after }))
    await changed(trx, cr, caller)
  })
  return (await getReview(deps.db, review.review_id))!
}

export function refuseAgent(caller: Caller, message: string): void {
  if (boundSession(caller.actor) !== null)
    throw new ServiceError('forbidden', message, {
      hint: "People review change requests, on the change request's page or with a user token.",
    })
}

async function commentAt(deps: { db: DbOrTransaction }, { project, crId, commentId }: OfComment) {
  const cr = await requireChangeRequest(deps.db, project.project_id, crId)
  return { cr, ...(await requireComment(deps.db, cr.cr_id, commentId)) }
}

const changed = (trx: DbOrTransaction, cr: ChangeRequestRow, caller: Caller) =>
  recordChangeRequestEvent(trx, 'change_request.updated', cr, caller.actor, { changed: ['reviews'] })

/** The agent of a session answers for its own branch, not for those of sessions it started. */
async function requireOwnBranch(db: DbOrTransaction, { actor }: Caller, cr: ChangeRequestRow): Promise<void> {
  const sessionId = boundSession(actor)
  if (sessionId === null) return
  const session = await getSession(db, cr.project_id, sessionId)
  if (session?.branch_name === cr.head_ref) return
  throw new ServiceError('forbidden', 'An agent answers only the comments on its own branch.', {
    hint: `The head branch of #${cr.number} is ${JSON.stringify(cr.head_ref)}.`,
  })
}

/** The head counts as the commit only when something was pushed since the review. */
async function commitOf(
  deps: PairDeps,
  input: {
    project: ProjectRow
    cr: ChangeRequestRow
    commit?: string | undefined
    reviewed: string
    signal: AbortSignal
  },
): Promise<{ commit: string; head: string }> {
  const { commit, signal } = input
  const { repository, headSha } = await commitPair(deps, input)
  if (commit === undefined) {
    if (headSha !== input.reviewed) return { commit: headSha, head: headSha }
    throw new ServiceError('invalid', 'Nothing was pushed to the branch since this review.', {
      hint: 'Push the commit first, name an earlier one with `commit`, or decline with a reason.',
      detail: { issues: [{ path: 'commit', message: 'is needed while the head is the reviewed one' }] },
    })
  }
  if ((await hasObjects(repository, [commit])) && (await isAncestor(repository, commit, headSha, { signal })))
    return { commit, head: headSha }
  throw new ServiceError('invalid', 'That commit is not part of the head branch.', {
    hint: 'Push it first: git push origin HEAD',
    detail: { issues: [{ path: 'commit', message: 'is not part of the head branch' }] },
  })
}
