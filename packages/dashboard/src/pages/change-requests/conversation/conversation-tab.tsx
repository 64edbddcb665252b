import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Failure } from '../../../components/requests.tsx'
import { Prose } from '../../../components/markdown.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { shortCommit } from '../../../components/short-commit.ts'
import { paths } from '../../../paths.ts'
import { type ChangeRequest, commitsOf, type Review, reviews } from '../queries.ts'
import { Time } from '../../../ui/text.tsx'
import { isAnswered, type Item, itemsOf, Quoted, ThreadCard } from '../review/thread.tsx'

export default function ConversationTab({ cr }: { cr: ChangeRequest }) {
  const found = useQuery(reviews(cr))
  return (
    <ol aria-label="Timeline" className="flex flex-col gap-4">
      <li className="flex flex-col gap-2">
        <p className="text-sm text-dim">
          {cr.origin_session_id === null ? 'Opened' : 'Opened by a session'} <Time at={cr.created_at} />
        </p>
        {cr.description !== '' && (
          <div className="rounded-lg border border-line px-4 py-3">
            <Prose>{cr.description}</Prose>
          </div>
        )}
      </li>
      {found.isError && (
        <li>
          <Failure error={found.error} retry={() => void found.refetch()} />
        </li>
      )}
      {found.data?.map((review) => (
        <li key={review.review_id}>
          <ReviewCard cr={cr} review={review} />
        </li>
      ))}
      {cr.merged_at !== null && (
        <li className="text-sm text-dim">
          Merged <Time at={cr.merged_at} /> as{' '}
          <code className="font-mono">{cr.merge_commit_sha !== null && shortCommit(cr.merge_commit_sha)}</code>
        </li>
      )}
      {cr.closed_at !== null && (
        <li className="text-sm text-dim">
          Closed without merging <Time at={cr.closed_at} />
        </li>
      )}
    </ol>
  )
}

function ReviewCard({ cr, review }: { cr: ChangeRequest; review: Review }) {
  const items = itemsOf([review])
  return (
    <article className="flex flex-col gap-3 rounded-lg border border-line px-4 py-3">
      <p className="text-sm text-dim">
        <span className="font-medium text-text">{review.created_by_name ?? 'A former member'}</span> reviewed{' '}
        <code className="font-mono">{shortCommit(review.head_sha)}</code> <Time at={review.created_at} />
        {review.session_id === null && ' · not sent to a session'}
        <span className="float-right">{answeredText(review, items)}</span>
      </p>
      {review.body !== '' && review.thread == null && <Prose>{review.body}</Prose>}
      {items.map((item) => (
        <div key={item.comment_id}>
          {item.written !== null && <Quoted of={item.written} />}
          <ThreadCard cr={cr} of={item} />
        </div>
      ))}
      <SinceReview cr={cr} review={review} />
    </article>
  )
}

function answeredText({ answer }: Review, items: Item[]): string {
  const answered = items.filter(isAnswered).length
  if (answer !== null && answered < items.length) return 'Answered by a commit'
  return items.length === 1
    ? answered === 1
      ? 'Answered'
      : 'Not answered yet'
    : `${answered} of ${items.length} answered`
}

/** The commits since the review, with a link to them. They answer nothing by themselves. */
function SinceReview({ cr, review }: { cr: ChangeRequest; review: Review }) {
  const { slug } = useProject()
  const hasNewHead = cr.head_commit_sha !== null && cr.head_commit_sha !== review.head_sha
  const range = useQuery({
    ...commitsOf({ ...cr, base_commit_sha: review.head_sha }),
    enabled: hasNewHead && cr.status !== 'merged',
  })
  if (!hasNewHead) return cr.status === 'open' && <p className="text-sm text-dim">No new commits since this review.</p>
  const count = range.data?.ahead
  return (
    <p className="text-sm">
      <span className="font-medium">New commits since this review</span>
      {count === undefined ? '.' : `: ${count} ${count === 1 ? 'commit' : 'commits'}.`}{' '}
      <Link
        to={paths.changeRequest}
        params={{ project: slug, number: String(cr.number) }}
        search={{ tab: 'files', since: review.head_sha }}
        className="text-accent underline"
      >
        See changes
      </Link>
    </p>
  )
}
