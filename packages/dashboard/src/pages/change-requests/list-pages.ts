/** A list of any length out of pages of the service: those in sight are kept as they are now, the others as they were seen. */
import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { type ChangeRequest, changeRequestPage } from '../../queries.ts'

type Answer = { data: { change_requests: ChangeRequest[] }; cursor: string | null }

/** A page holds the next ones below a number. */
export interface Asked {
  cursor: string | null
  below: number
}

export interface ListPages {
  /** Newest first. */
  rows: ChangeRequest[]
  /** Where the next page begins; null: all are there, or the last one is still awaited. */
  next: Asked | null
  isLoading: boolean
  error: Error | null
  retry: () => void
}

const first: Asked = { cursor: null, below: Infinity }
/** Rows from the end at which the next page is asked for. */
const nearTheEnd = 40

export function useListPages(
  projectId: string,
  { status, search }: { status: 'open' | 'merged' | 'closed' | 'all'; search: string },
): ListPages & { onShown: (from: number, to: number) => void } {
  const [asked, setAsked] = useState([first])
  /** The numbers in sight. */
  const [sight, setSight] = useState({ low: 0, high: Infinity })
  const combine = useCallback((results: UseQueryResult<Answer>[]) => listOf(asked, results), [asked])
  const list = useQueries({
    queries: asked.map(({ cursor, below }, at) => ({
      ...changeRequestPage(projectId, { status, search, cursor }),
      // What happens in the project asks only for what is in sight again. The last one is the one that is awaited.
      enabled: at === asked.length - 1 || (sight.low < below && sight.high >= (asked[at + 1]?.below ?? 0)),
      gcTime: Infinity,
    })),
    combine,
  })
  const { rows, next } = list
  const onShown = useCallback(
    (from: number, to: number) => {
      const [high, low] = [rows[from]?.number ?? Infinity, rows[to]?.number ?? 0]
      setSight((before) => (before.high === high && before.low === low ? before : { high, low }))
      if (next !== null && to >= rows.length - nearTheEnd)
        setAsked((before) => (before.some(({ cursor }) => cursor === next.cursor) ? before : [...before, next]))
    },
    [rows, next],
  )
  return { ...list, onShown }
}

type Result = Pick<UseQueryResult<Answer>, 'data' | 'dataUpdatedAt' | 'isPending' | 'isFetching' | 'error' | 'refetch'>

/**
 * The newest answer about a stretch of numbers is the truth about it: a row that it leaves out is gone from there. A page
 * that was asked for again may reach further down than before, or less far; then the older answer is what is known.
 */
export function listOf(asked: Asked[], results: Result[]): ListPages {
  const known = new Map<number, ChangeRequest>()
  const answers = results.flatMap(({ data, dataUpdatedAt: at }, page) =>
    data === undefined ? [] : [{ data, at, below: asked[page]!.below }],
  )
  for (const { data, below } of answers.toSorted((one, other) => one.at - other.at)) {
    const rows = data.data.change_requests
    const low = data.cursor === null ? 0 : (rows.at(-1)?.number ?? below)
    for (const number of known.keys()) if (number < below && number >= low) known.delete(number)
    for (const row of rows) known.set(row.number, row)
  }
  const rows = [...known.values()].sort((one, other) => other.number - one.number)
  const failed = results.find(({ error }) => error !== null)
  const last = results.at(-1)?.data
  const lowest = last?.data.change_requests.at(-1)
  return {
    rows,
    next:
      last == null || last.cursor === null || lowest === undefined
        ? null
        : { cursor: last.cursor, below: lowest.number },
    isLoading: results.some(({ isPending, isFetching }) => isPending && isFetching),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
  }
}
