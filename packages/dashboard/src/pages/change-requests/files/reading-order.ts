/** The order of the files: by folder, as git lists them, or as they are best read. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { DiffOptions } from '../../../prefetch/requests.ts'
import { type ChangeRequest, type Diff, readingGuide, type ReadingGuide } from '../queries.ts'
import type { FileOrder, useReviewState } from '../review/review-state.ts'

type Guided = ReadingGuide['order'][number]

/** Waits with the guide until `isRendered`, unless the order needs it. */
export function useReadingOrder(
  { cr, diff, options, mine }: { cr: ChangeRequest; diff: Diff; options: DiffOptions; mine: Mine },
  isRendered: boolean,
) {
  const [order, setOrder] = useFileOrder(mine)
  const isGuided = order === 'guided'
  const guide = useQuery({ ...readingGuide(cr, options), enabled: isRendered || isGuided })
  const found = guide.data
  const ordered = useMemo(
    () => (isGuided && found !== undefined ? inOrder(diff, found.order) : diff),
    [diff, isGuided, found],
  )
  const guided = useMemo(
    () => new Map(isGuided ? found?.order.map((each) => [each.path, each]) : []),
    [isGuided, found],
  )
  return {
    diff: ordered,
    order,
    setOrder,
    /** The files would be shown in another order before it has arrived. */
    isWaiting: isGuided && guide.isPending,
    error: isGuided ? guide.error : null,
    guided,
    moves: found?.moves ?? none,
  }
}

type Mine = ReturnType<typeof useReviewState>

/**
 * The server keeps the choice. The browser keeps a copy, so that the files of the next page are drawn in their order
 * before the server has answered.
 */
function useFileOrder({ state, edit }: Mine): [FileOrder, (order: FileOrder) => void] {
  const [copy, setCopy] = useStored<FileOrder>('svc-file-order', 'folders')
  // A server of an earlier version has none.
  const kept = state.file_order ?? null
  useEffect(() => {
    if (kept !== null) setCopy(kept)
  }, [kept, setCopy])
  return [kept ?? copy, (file_order) => edit({ file_order })]
}

const none: ReadingGuide['moves'] = []

function inOrder(diff: Diff, order: readonly Guided[]): Diff {
  const at = new Map(order.map(({ path }, index) => [path, index]))
  const of = ({ path }: Diff['files'][number]) => at.get(path) ?? Infinity
  // Files beyond the limit of the guide keep their order at the end.
  return { ...diff, files: diff.files.toSorted((a, b) => (of(a) === of(b) ? 0 : of(a) - of(b))) }
}

/** Why a file is where it is. */
export function reasonOf({ kind, imported_by, tests }: Guided): string | null {
  if (tests !== null) return `Tests ${tests}`
  if (kind === 'generated') return 'Written by a program'
  if (imported_by === 0) return null
  return imported_by === 1 ? 'Used by 1 file' : `Used by ${imported_by} files`
}
