/** The threads of the shown files: those at their lines, and those whose lines are not shown. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { PlacedThread } from '../diff/viewer.tsx'
import type { ChangedFile } from '../files/changed-files.ts'
import type { Range } from '../files/versions-menu.tsx'
import { type ChangeRequest, type Diff, type Review, reviews } from '../queries.ts'
import { canApply } from './suggestion.tsx'
import { answeredOf, isAnswered, type Item, itemsOf, Quoted, ThreadCard } from './thread.tsx'

const none: Review[] = []

export function useThreads(
  cr: ChangeRequest,
  { diff, files, range }: { diff: Diff; files: ChangedFile[]; range: Range },
) {
  const { data = none } = useQuery(reviews(cr))
  return useMemo(() => {
    const items = itemsOf(data)
    const placed: PlacedThread[] = []
    const loose: Item[] = []
    for (const item of items) {
      const place = placeIn(item, { diff, range })
      if (place !== null && isShown(place, files)) placed.push(place)
      else if (item.state !== 'resolved' && item.written !== null) loose.push(item)
    }
    const answered = items.filter(isAnswered).length
    const counted =
      items.length === 0
        ? ''
        : `, ${answered} of ${items.length} ${items.length === 1 ? 'comment' : 'comments'} answered`
    const applicable = items.flatMap(({ written }) => (written !== null && canApply(cr, written) ? [written] : []))
    return { items, placed, loose, counted, applicable, reviews: data }
  }, [cr, data, diff, files, range])
}

/** Null where its lines changed since. The lines before the change are those of the base. */
function placeIn({ written, ...item }: Item, { diff, range }: { diff: Diff; range: Range }): PlacedThread | null {
  if (written === null || (written.side === 'old' && range.since !== null)) return null
  const isReviewed = item.review.head_sha === diff.head_sha
  const place = isReviewed ? written : range.to === null ? written.current : null
  if (place === null) return null
  const version = JSON.stringify([item.state, item.answer, item.replies.length, written.suggestion?.refusal])
  return { id: item.comment_id, path: place.path, line: place.line, side: written.side, version }
}

/** The diff has another version of its lines. */
function isOfOtherVersion({ written, review }: Item, { diff, range }: { diff: Diff; range: Range }): boolean {
  if (written === null || review.head_sha === diff.head_sha) return false
  return range.to !== null || written.current === null
}

function isShown({ path, side, line }: PlacedThread, files: ChangedFile[]): boolean {
  const file = files.find((each) => each.path === path || (side === 'old' && each.oldPath === path))
  if (file === undefined) return false
  // A file that is still arriving or being read may have the line.
  if (file.view === null) return file.isArriving || file.unread !== null
  return file.view.hunks.some(({ additionStart, additionCount, deletionStart, deletionCount }) => {
    const [start, count] = side === 'new' ? [additionStart, additionCount] : [deletionStart, deletionCount]
    return line >= start && line < start + count
  })
}

export function ThreadCardOf({ cr, id, items }: { cr: ChangeRequest; id: string; items: readonly Item[] }) {
  const item = items.find(({ comment_id }) => comment_id === id)
  return item && <ThreadCard cr={cr} of={item} aside={answeredOf(item)} />
}

/** Sent comments stay readable when the diff does not show their lines. */
export function LooseThreads({
  cr,
  items,
  diff,
  range,
}: {
  cr: ChangeRequest
  items: readonly Item[]
  diff: Diff
  range: Range
}) {
  if (items.length === 0) return null
  const others = items.filter((item) => isOfOtherVersion(item, { diff, range })).length
  const version = range.to === null ? 'an earlier version' : 'another version'
  const where =
    others === items.length
      ? `on ${version}`
      : `on lines that this diff does not show${others === 0 ? '' : ` or on ${version}`}`
  return (
    <details className="rounded-lg border border-line px-3 py-2 text-sm">
      <summary className="cursor-pointer font-medium">
        {items.length === 1 ? '1 comment' : `${items.length} comments`} {where}
      </summary>
      <ul className="mt-2 flex flex-col gap-3" aria-label="Comments on other lines">
        {items.map((item) => (
          <li key={item.comment_id}>
            {item.written !== null && <Quoted of={item.written} />}
            <ThreadCard cr={cr} of={item} />
          </li>
        ))}
      </ul>
    </details>
  )
}
