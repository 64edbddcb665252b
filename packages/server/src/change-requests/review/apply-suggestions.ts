/** Commits suggestions of reviews to the head branch, for a person. */
import { type applySuggestionsRoute, type BodyOf, ServiceError } from '@svc/contract'
import { type EditedCommit, editLines, type EditRefusal, listCommits, type Repository, treeOf } from '@svc/git'
import { commitAuthor } from '../../accounts/commit-author.ts'
import { getUser } from '../../accounts/store.ts'
import type { Caller } from '../../auth/actor.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinTime } from '../../projects/within-limits.ts'
import { oneLine } from '../merge/message.ts'
import { saveTips } from '../open/refresh-tips.ts'
import { commitPair } from '../preview/commit-pair.ts'
import { type ChangeRequestRow, presentChangeRequest, requireChangeRequest } from '../store.ts'
import { commentId } from './comment-id.ts'
import { alreadyApplied, headMoved, type LandDeps, landSuggestions, recordApplied } from './land-suggestions.ts'
import { refreshThreadsIfReachable } from './refresh-threads.ts'
import { getReview } from './store.ts'
import { type Chosen, chosenSuggestions, editsAt, notApplicable } from './suggestions.ts'
import { refuseAgent } from './threads.ts'
import { placeOf } from './prompt.ts'
import { commitOfReply, reviewIdsOf } from './thread-store.ts'

type Apply = BodyOf<typeof applySuggestionsRoute> & {
  project: ProjectRow
  caller: Caller
  crId: string
  /** The same when the request is a retry. */
  requestId: string
  signal: AbortSignal
}

const committer = { name: 'svc', email: 'noreply@svc.invalid' }

/** Needs no lock: the branch moves only from the head that the caller saw. */
export async function applySuggestions(deps: LandDeps, input: Apply) {
  const { project, caller, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  refuseAgent(caller, 'An agent cannot apply suggestions.')
  const commit = (await commitOfReply(deps.db, replyIdOf(input.requestId)(0))) ?? (await apply(deps, input, cr))
  const now = await requireChangeRequest(deps.db, cr.project_id, cr.cr_id)
  await refreshThreadsIfReachable(deps, { project, cr: now, signal })
  const reviewIds = await reviewIdsOf(deps.db, cr.cr_id, input.comment_ids)
  const reviews = await Promise.all(reviewIds.map((id) => getReview(deps.db, id)))
  return {
    commit,
    change_request: presentChangeRequest(now),
    reviews: reviews.filter((each) => each !== undefined),
  }
}

/** The replies of a request have ids of their own, by which a retry finds that it was done. */
const replyIdOf = (requestId: string) => (at: number) => commentId(requestId, at)

async function apply(deps: LandDeps, input: Apply, cr: ChangeRequestRow): Promise<string> {
  const { project, caller } = input
  requireEditable(project, cr)
  const chosen = await chosenSuggestions(deps.db, cr, input.comment_ids)
  const user = await getUser(deps.db, caller.actor.user_id)
  const expected = input.expected_head_sha
  const { pair, edits } = await withinTime(input.signal, async (signal) => {
    const pair = await commitPair(deps, { project, cr, signal })
    // The tree of a tree is itself.
    const tree = pair.headSha === expected ? null : await treeOf(pair.repository, expected)
    if (pair.headSha !== expected && (tree === null || tree === expected))
      throw headMoved(cr, { expected, headSha: pair.headSha })
    return { pair, edits: await editsAt(pair.repository, chosen, { headSha: expected, signal }) }
  })
  const { repository, headSha } = pair
  const message = await messageOf(deps, { cr, chosen, given: input.message, userId: user.user_id })
  const author = commitAuthor(user)
  const commit = { parent: expected, edits, message, author, committer, at: deps.now() }
  const at = { project, cr, repository, expected, headSha, author, signal: input.signal }
  const edited = await editLines(repository, commit, (made) => land(deps, at, made, chosen))
  if (edited.kind !== 'done') throw notEditable(edited, chosen)
  const commentIds = chosen.map((each) => each.commentId)
  const applied = { commentIds, sha: edited.value, replyIdOf: replyIdOf(input.requestId) }
  await recordApplied(deps, { ...at, caller }, applied)
  const head = headSha === expected ? edited.value : headSha
  const now = await requireChangeRequest(deps.db, cr.project_id, cr.cr_id)
  await saveTips(deps, project, [{ cr: now, base: pair.baseSha, head }])
  return edited.value
}

/** The rules of a push, and of the change request. */
function requireEditable(project: ProjectRow, cr: ChangeRequestRow): void {
  if (cr.status !== 'open')
    throw new ServiceError('not_open', `This change request is ${cr.status}, so no suggestion can be applied.`, {
      hint: cr.status === 'closed' ? 'Reopen it first.' : 'Open a change request with the change.',
      detail: { status: cr.status },
    })
  if (cr.head_ref === project.default_branch)
    throw new ServiceError('conflict', `${cr.head_ref} is written by merged change requests only.`, {
      hint: 'Make the change on another branch, and open a change request for it.',
    })
}

const commitsMax = 50

const commitsAfter = (repository: Repository, notIn: string, sha: string) =>
  listCommits(repository, { sha, notIn, limit: commitsMax })

interface At {
  project: ProjectRow
  cr: ChangeRequestRow
  repository: Repository
  expected: string
  headSha: string
  author: ReturnType<typeof commitAuthor>
  signal: AbortSignal
}

/**
 * The branch may have moved from the expected head to the same content. A try of this request that ended without an
 * answer did that if the author is the caller. Otherwise another person applied the same suggestions first.
 */
async function land(deps: LandDeps, at: At, made: EditedCommit, chosen: readonly Chosen[]): Promise<string> {
  const { cr, expected, author } = at
  if (made.treeSha === (await treeOf(at.repository, expected)))
    throw notApplicable(
      chosen.map(({ commentId, written }) => ({
        ...{ commentId, place: placeOf(written), reason: 'Its lines are as it suggests already.' },
      })),
      chosen.length,
    )
  const landed = at.headSha === expected ? await landSuggestions(deps, at, made) : null
  if (landed !== null) return landed
  const { repository, headSha } = at.headSha === expected ? await commitPair(deps, at) : at
  const first = await sameEdit(repository, { expected, headSha }, made)
  if (first === null) throw headMoved(cr, { expected, headSha })
  const isOurs = first.author_name === author.name && first.author_email === author.email
  if (at.headSha !== expected && isOurs) return first.sha
  throw alreadyApplied(
    chosen.map(({ commentId }) => commentId),
    first.sha,
  )
}

async function sameEdit(
  repository: Repository,
  { expected, headSha }: { expected: string; headSha: string },
  made: EditedCommit,
) {
  for (const each of await commitsAfter(repository, expected, headSha))
    if (each.parents[0] === expected && (await treeOf(repository, each.sha)) === made.treeSha) return each
  return null
}

const reasons: Record<EditRefusal['kind'], string> = {
  missing: 'Its file no longer exists.',
  'not-text': 'Its file is not text.',
  'too-large': 'Its file is too large.',
  'past-end': 'Its lines are not in the file.',
  overlap: 'Its lines overlap with those of another suggestion.',
}

function notEditable({ kind, at }: EditRefusal, chosen: readonly Chosen[]): ServiceError {
  const { commentId, written } = chosen[at]!
  return notApplicable([{ commentId, place: placeOf(written), reason: reasons[kind] }], chosen.length)
}

async function messageOf(
  deps: LandDeps,
  of: { cr: ChangeRequestRow; chosen: readonly Chosen[]; given: string | undefined; userId: string },
): Promise<string> {
  const { cr, chosen, given, userId } = of
  const [first] = chosen
  const text =
    given?.replace(/\r\n?/g, '\n').trim() ||
    (chosen.length === 1
      ? `Apply a suggestion to ${oneLine(first!.written.path)}`
      : `Apply ${chosen.length} suggestions from the review of #${cr.number}`)
  const others = new Set(chosen.flatMap(({ reviewer }) => (reviewer === null || reviewer === userId ? [] : [reviewer])))
  const users = await Promise.all([...others].map((id) => getUser(deps.db, id)))
  const trailers = users.map((user) => `Suggested-by: ${commitAuthor(user).name} <${user.user_id}>\n`)
  return trailers.length === 0 ? `${text}\n` : `${text}\n\n${trailers.join('')}`
}
