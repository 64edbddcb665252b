/** A list built from pages of the service. Pages in view stay current; the others keep their last answer. */
import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import type { Page } from '../../../api.ts'
import {
  type Answered,
  type ChangeRequest,
  changeRequestPage,
  type ListFilter,
  type ListSort,
  type Summary,
} from '../queries.ts'

type Listed = Page<Answered>

/** A page holds the change requests below a number. */
export interface PageRequest {
  cursor: string | null
  below: number
}

export interface ListPages {
  rows: ChangeRequest[]
  /** By `cr_id`. */
  summaries: Record<string, Summary>
  /** The next page; null when all are loaded or the last one is still loading. */
  next: PageRequest | null
  isLoading: boolean
  error: Error | null
  retry: () => void
}

const first: PageRequest = { cursor: null, below: Infinity }
/** The next page is loaded this many rows before the end. */
const nearTheEnd = 40

export function useListPages(
  projectId: string,
  filter: ListFilter,
): ListPages & { onShown: (from: number, to: number) => void } {
  const [requests, setRequests] = useState([first])
  const { sort } = filter
  /** The numbers in view. */
  const [inView, setInView] = useState({ low: 0, high: Infinity })
  const combine = useCallback((results: UseQueryResult<Listed>[]) => listOf(sort, requests, results), [sort, requests])
  const list = useQueries({
    queries: requests.map(({ cursor, below }, at) => ({
      ...changeRequestPage(projectId, { ...filter, cursor }),
      // Only pages in view refetch on events. The last page may still be loading. Other orders change as a whole.
      enabled:
        sort !== 'newest' ||
        at === requests.length - 1 ||
        (inView.low < below && inView.high >= (requests[at + 1]?.below ?? 0)),
      gcTime: Infinity,
    })),
    combine,
  })
  const { rows, next } = list
  const onShown = useCallback(
    (from: number, to: number) => {
      const [high, low] = [rows[from]?.number ?? Infinity, rows[to]?.number ?? 0]
      setInView((before) => (before.high === high && before.low === low ? before : { high, low }))
      if (next !== null && to >= rows.length - nearTheEnd)
        setRequests((before) => (before.some(({ cursor }) => cursor === next.cursor) ? before : [...before, next]))
    },
    [rows, next],
  )
  return { ...list, onShown }
}

type Result = Pick<UseQueryResult<Listed>, 'data' | 'dataUpdatedAt' | 'isPending' | 'isFetching' | 'error' | 'refetch'>

export function listOf(sort: ListSort, requests: PageRequest[], results: Result[]): ListPages {
  const answers = results.flatMap(({ data, dataUpdatedAt: at }, page) =>
    data === undefined ? [] : [{ data, at, below: requests[page]!.below }],
  )
  const rows = sort === 'newest' ? newestFirst(answers) : inOrder(answers)
  const failed = results.find(({ error }) => error !== null)
  const last = results.at(-1)?.data
  const lowest = last?.data.change_requests.at(-1)
  return {
    rows,
    summaries: Object.assign({}, ...answers.map(({ data }) => data.data.summaries)) as Record<string, Summary>,
    next:
      last == null || last.cursor === null || lowest === undefined
        ? null
        : { cursor: last.cursor, below: lowest.number },
    isLoading: results.some(({ isPending, isFetching }) => isPending && isFetching),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
  }
}

interface PageAnswer {
  data: Listed
  at: number
  below: number
}

/** As the service sorted them. A row that moved between two answers is on two pages, and the first one counts. */
function inOrder(answers: PageAnswer[]): ChangeRequest[] {
  const rows = answers.flatMap(({ data }) => data.data.change_requests)
  return [...new Map(rows.toReversed().map((row) => [row.cr_id, row])).values()].toReversed()
}

/**
 * The newest answer about a range of numbers wins: a row that it leaves out is gone. A refetched page may cover a larger or
 * smaller range than before; outside its range the older answers apply.
 */
function newestFirst(answers: PageAnswer[]): ChangeRequest[] {
  const known = new Map<number, ChangeRequest>()
  for (const { data, below } of answers.toSorted((one, other) => one.at - other.at)) {
    const rows = data.data.change_requests
    const low = data.cursor === null ? 0 : (rows.at(-1)?.number ?? below)
    for (const number of known.keys()) if (number < below && number >= low) known.delete(number)
    for (const row of rows) known.set(row.number, row)
  }
  return [...known.values()].sort((one, other) => other.number - one.number)
}
