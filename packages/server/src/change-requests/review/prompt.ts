/** Renders a review as one prompt for the agent: a checklist, with places given as file and line. */
import { type ReviewComment, suggestionOf } from '@svc/contract'
import { commentId, shortId } from './comment-id.ts'

interface Reviewed {
  number: number
  title: string
}

export function reviewPrompt(
  cr: Reviewed,
  review: { head_sha: string; body: string; comments: ReviewComment[]; reviewId: string },
): string {
  const { reviewId, comments } = review
  const ids = Array.from({ length: Math.max(1, comments.length) }, (_, at) => shortId(commentId(reviewId, at)))
  const parts = [
    `Review of change request #${cr.number}, ${JSON.stringify(cr.title)}, at ${review.head_sha.slice(0, 12)}.`,
  ]
  if (review.body !== '') parts.push(comments.length === 0 ? `[${ids[0]}] ${review.body}` : review.body)
  parts.push(...comments.map((comment, at) => remark(ids[at]!, comment)))
  if (comments.some(({ text }) => suggestionOf(text) !== null))
    parts.push(
      'A `suggestion` block is the text that should replace the commented lines. The reviewer can apply it to the branch themselves, so run `git pull --rebase` before you push.',
    )
  parts.push(
    'Answer it with commits on this branch and `git push origin HEAD`: the change request shows them. Do not merge it.',
    `Then answer ${ids.length === 1 ? 'this comment' : `each of the ${ids.length} comments`} by its id. The reviewer sees the answers, and the review counts as answered only when none is left out:`,
    ids.map((id) => answerCommands(cr, id)).join('\n'),
  )
  return parts.join('\n\n')
}

/** A reviewer's reply that asks again. */
export function replyPrompt(cr: Reviewed, comment: { comment_id: string; place: string | null }, text: string): string {
  const id = shortId(comment.comment_id)
  return [
    `Reply to comment ${id}${comment.place === null ? '' : ` on ${comment.place}`} in the review of change request #${cr.number}, ${JSON.stringify(cr.title)}.`,
    text,
    'Push what you change to this branch, and answer the comment again:',
    answerCommands(cr, id),
  ].join('\n\n')
}

const answerCommands = ({ number }: Reviewed, id: string) =>
  [
    `svc cr answer ${id} --cr ${number} --done --commit <sha>`,
    `svc cr answer ${id} --cr ${number} --decline "<reason>"`,
  ].join('   or   ')

export function placeOf({ path, side, line, start_line }: ReviewComment): string {
  const lines = start_line !== null && start_line < line ? `${start_line}-${line}` : `${line}`
  return `${path}:${lines}${side === 'old' ? ' (as it was before the change)' : ''}`
}

function remark(id: string, comment: ReviewComment): string {
  const quoted = comment.quote === '' ? [] : comment.quote.split('\n').map((each) => `> ${each}`)
  return [`[${id}] ${placeOf(comment)}`, ...quoted, comment.text].join('\n')
}
