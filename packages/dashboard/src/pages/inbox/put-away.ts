/** Marks items as done or snoozes them, and undoes the last one. */
import { useRef, useState } from 'react'
import { useSend } from '../../components/requests.tsx'
import type { InboxItem } from './queries.ts'

interface Last {
  item: InboxItem
  until: string | null
}

/** An item with another version is a new one. */
const nameOf = ({ key, version }: InboxItem) => `${key} ${version}`
const refetch = [['inbox']]

export function usePutAway() {
  /** When the service had taken each: only an answer requested later tells whether the item is back. */
  const [hidden, setHidden] = useState<ReadonlyMap<string, number>>(new Map())
  const [last, setLast] = useState<Last | null>(null)
  const put = useSend('PUT', '/v1/inbox/{key}', {
    request: ({ item, until }: Last) => ({ path: { key: item.key }, body: { version: item.version, until } }),
    onSuccess: (_reply, { item }) => hide(item, performance.now()),
    refetch,
  })
  const restore = useSend('DELETE', '/v1/inbox/{key}', {
    request: (item: InboxItem) => ({ path: { key: item.key } }),
    refetch,
  })
  // An undo must not overtake what it undoes.
  const sending = useRef<Promise<unknown>>(Promise.resolve())
  const hide = (item: InboxItem, takenAt: number) =>
    setHidden((before) => new Map([...before, [nameOf(item), takenAt]]))
  const show = (item: InboxItem) =>
    setHidden((before) => new Map([...before].filter(([name]) => name !== nameOf(item))))
  return {
    last,
    error: put.error ?? restore.error,
    isHidden: (item: InboxItem, askedAt: number) => askedAt < (hidden.get(nameOf(item)) ?? 0),
    putAway(item: InboxItem, until: string | null) {
      hide(item, Infinity)
      setLast({ item, until })
      sending.current = put.mutateAsync({ item, until }).catch(() => show(item))
    },
    restore(item: InboxItem) {
      setLast(null)
      void sending.current.then(() => restore.mutate(item, { onSuccess: () => show(item) }))
    },
    forget: () => setLast(null),
  }
}

export type PuttingAway = ReturnType<typeof usePutAway>

/**
 * Later today, tomorrow morning, and Monday morning, by the clock of the browser. Late in the evening nothing is later
 * today, and on a Sunday tomorrow is Monday.
 */
export function snoozeTimes(now: Date): [label: string, until: string][] {
  const at = (days: number, hours: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hours).toISOString()
  const later = new Date(now.getTime() + 3 * 3_600_000)
  const daysToMonday = (8 - now.getDay()) % 7 || 7
  const times: [label: string, until: string][] = []
  if (later.getDate() === now.getDate()) times.push(['Later today', later.toISOString()])
  times.push(['Tomorrow', at(1, 9)])
  if (daysToMonday > 1) times.push(['Next week', at(daysToMonday, 9)])
  return times
}
