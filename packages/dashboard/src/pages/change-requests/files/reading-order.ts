/** The order of the files: by folder, as git lists them, or as they are best read. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { DiffOptions } from '../../../prefetch/requests.ts'
import { type ChangeRequest, type Diff, readingGuide, type ReadingGuide } from '../queries.ts'

export type FileOrder = 'folders' | 'guided'
type Guided = ReadingGuide['order'][number]

/** Waits with the guide until `isRendered`, unless the order needs it. The choice is stored in this browser. */
export function useReadingOrder(
  { cr, diff, options }: { cr: ChangeRequest; diff: Diff; options: DiffOptions },
  isRendered: boolean,
) {
  const [order, setOrder] = useStored<FileOrder>('svc-file-order', 'folders')
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
