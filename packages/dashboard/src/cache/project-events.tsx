/** Keeps the shown projects current: each project event refetches the queries it affects. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { projectEventTypes } from '@svc/contract/schemas/event-types'
import { invalidateNow } from './invalidate.ts'
import { followEvents } from './follow-events.ts'

/** A burst of events causes one refetch. */
const gatherMs = 150

/** The query keys below `['project', id]` that an event about this noun affects. */
const affected: Record<string, string[]> = {
  change_request: ['change-requests', 'change-request', 'checks'],
  session: ['sessions'],
  trigger: ['triggers'],
  deploy: ['apps'],
  check: ['checks'],
  default_branch: ['change-requests', 'change-request', 'checks', 'branches', 'triggers', 'apps', 'agents'],
}

/** Streams only while the page is visible: a browser has six connections to one server. */
export function ProjectEvents({ projectIds }: { projectIds: string[] }) {
  const queries = useQueryClient()
  const named = projectIds.join(' ')
  useEffect(() => {
    const ends = named.split(' ').flatMap((id) => (id === '' ? [] : [follow(queries, id)]))
    return () => {
      for (const end of ends) end()
    }
  }, [queries, named])
  return null
}

function follow(queries: QueryClient, projectId: string): () => void {
  let end: (() => void) | null = null
  let lastId: string | null = null
  const gathered = gather((nouns) => {
    const keys = nouns.has('all')
      ? [[]]
      : [...new Set([...nouns].flatMap((noun) => affected[noun] ?? []))].map((key) => [key])
    for (const key of keys) invalidateNow(queries, ['project', projectId, ...key])
  })
  const address = (recent: number) =>
    `/v1/projects/${projectId}/events?${lastId === null ? `recent=${recent}` : `after=${lastId}`}`
  const take = (noun: string | null) => (event: MessageEvent) => {
    lastId = event.lastEventId
    if (noun !== null) gathered.add(noun)
  }
  const begin = (stream: EventSource) => {
    for (const type of projectEventTypes) stream.addEventListener(type, take(type.split('.')[0]!))
    stream.addEventListener('ready', take(null))
    stream.addEventListener('reset', take('all'))
    // The next request finds out whether the whole service is unavailable (reconnecting.tsx).
    stream.addEventListener('error', () => void queries.invalidateQueries({ queryKey: ['me'] }))
  }
  const open = () => {
    if (!document.hidden) end ??= followEvents(address, begin)
  }
  const close = () => {
    end?.()
    end = null
  }
  const followVisibility = () => (document.hidden ? close() : open())
  document.addEventListener('visibilitychange', followVisibility)
  open()
  return () => {
    document.removeEventListener('visibilitychange', followVisibility)
    gathered.end()
    close()
  }
}

function gather(act: (nouns: Set<string>) => void) {
  let nouns = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    add(noun: string) {
      nouns.add(noun)
      timer ??= setTimeout(() => {
        const all = nouns
        nouns = new Set()
        timer = undefined
        act(all)
      }, gatherMs)
    },
    end: () => clearTimeout(timer),
  }
}
