/** Renders a review as one prompt for the agent, with places given as file and line. */
import type { ReviewComment } from '@svc/contract'

export function reviewPrompt(
  cr: { number: number; title: string },
  review: { head_sha: string; body: string; comments: ReviewComment[] },
): string {
  const parts = [
    `Review of change request #${cr.number}, ${JSON.stringify(cr.title)}, at ${review.head_sha.slice(0, 12)}.`,
  ]
  if (review.body !== '') parts.push(review.body)
  parts.push(...review.comments.map(remark))
  parts.push(
    'Answer it with commits on this branch and `git push origin HEAD`: the change request shows them. Do not merge it. Report what you changed and what you left unchanged.',
  )
  return parts.join('\n\n')
}

function remark({ path, side, line, start_line, quote, text }: ReviewComment): string {
  const lines = start_line !== null && start_line < line ? `${start_line}-${line}` : `${line}`
  const place = `${path}:${lines}${side === 'old' ? ' (as it was before the change)' : ''}`
  const quoted = quote === '' ? [] : quote.split('\n').map((each) => `> ${each}`)
  return [place, ...quoted, text].join('\n')
}
