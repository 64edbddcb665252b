/** The suggestions of comments: what they replace, and why one cannot be applied. */
import { type ReviewComment, ServiceError, suggestionOf } from '@svc/contract'
import { hasObjects, type LineEdit, moveLines, type Repository } from '@svc/git'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ChangeRequestRow } from '../store.ts'
import { shortId } from './comment-id.ts'
import { placeOf } from './prompt.ts'
import { requireComment } from './thread-store.ts'

/** As the page and the client show it. */
export function presentSuggestion(
  written: ReviewComment,
  { outdated, resolved }: { outdated: boolean; resolved: boolean },
): { lines: string[]; refusal: string | null } | null {
  const found = suggestionOf(written.text)
  if (found === null) return null
  const refusal = resolved
    ? 'Its comment is resolved.'
    : written.side === 'old'
      ? 'It is about lines as they were before the change.'
      : outdated
        ? 'Its lines changed since it was written.'
        : null
  return { lines: found.lines, refusal }
}

export interface Chosen {
  commentId: string
  reviewId: string
  /** The head that the reviewer read. */
  reviewedSha: string
  reviewer: string | null
  written: ReviewComment
  lines: string[]
}

/** Refuses what no head can change. */
export async function chosenSuggestions(
  db: DbOrTransaction,
  cr: ChangeRequestRow,
  commentIds: readonly string[],
): Promise<Chosen[]> {
  const chosen: Chosen[] = []
  const refused: Refused[] = []
  for (const commentId of new Set(commentIds)) {
    const { comment, review, written } = await requireComment(db, cr.cr_id, commentId)
    const shown = written && presentSuggestion(written, { outdated: false, resolved: comment.resolved_at !== null })
    if (shown === null || written === null)
      throw new ServiceError('invalid', `The comment ${shortId(commentId)} suggests no change.`, {
        hint: 'Only comments with a `suggestion` block can be applied.',
        detail: { issues: [{ path: 'comment_ids', message: `${commentId} has no suggestion` }] },
      })
    if (shown.refusal !== null) {
      const applied =
        comment.commit_sha === null ? null : `It was applied as commit ${comment.commit_sha.slice(0, 10)}.`
      refused.push({ commentId, place: placeOf(written), reason: applied ?? shown.refusal })
    } else
      chosen.push({
        ...{ commentId, reviewId: review.review_id, reviewedSha: review.head_sha },
        ...{ reviewer: review.created_by, written, lines: shown.lines },
      })
  }
  if (refused.length > 0) throw notApplicable(refused, commentIds.length)
  return chosen
}

/** The edits in `headSha`, in the order of `chosen`. */
export async function editsAt(
  repository: Repository,
  chosen: readonly Chosen[],
  { headSha, signal }: { headSha: string; signal: AbortSignal },
): Promise<LineEdit[]> {
  const found = new Map<Chosen, LineEdit>()
  for (const [fromSha, all] of Map.groupBy(chosen, ({ reviewedSha }) => reviewedSha)) {
    if (!(await hasObjects(repository, [fromSha]))) continue
    const places = all.map(({ written: { path, line, start_line } }) => ({
      path,
      first: start_line ?? line,
      last: line,
    }))
    const now = await moveLines(repository, { fromSha, toSha: headSha }, places, { signal })
    for (const [at, each] of all.entries()) {
      const place = now[at]
      if (place) found.set(each, { ...place, lines: each.lines })
    }
  }
  const outdated = chosen.filter((each) => !found.has(each))
  if (outdated.length === 0) return chosen.map((each) => found.get(each)!)
  const refused = outdated.map(({ commentId, written }) => ({
    ...{ commentId, place: placeOf(written), reason: 'Its lines changed since it was written.' },
  }))
  throw notApplicable(refused, chosen.length)
}

interface Refused {
  commentId: string
  place: string
  reason: string
}

/** `count`: how many were to be applied. */
export function notApplicable(refused: readonly Refused[], count: number): ServiceError {
  const [first] = refused
  const what =
    count === 1
      ? `This suggestion on ${first!.place} cannot be applied. ${first!.reason}`
      : `${refused.length} of ${count} suggestions cannot be applied, so none was. ${first!.place}: ${first!.reason}`
  return new ServiceError('conflict', what, {
    hint:
      count === 1
        ? 'Edit the lines yourself, or send the comment to the agent.'
        : 'Leave them out, and apply the others. Edit their lines yourself, or send the comments to the agent.',
    detail: { refused: refused.map(({ commentId, place, reason }) => ({ comment_id: commentId, place, reason })) },
  })
}
