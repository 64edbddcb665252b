/** Keeps what is shown of projects as it is now: each event of theirs makes the answers it touches be asked for again. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { projectEventTypes } from '@svc/contract/event-types'
import { followEvents } from '../follow-events.ts'

/** A burst of events is one look. */
const gatherMs = 150

/** Below `['project', id]`, what an event of that noun may have changed. */
const touched: Record<string, string[]> = {
  change_request: ['change-requests', 'change-request', 'checks'],
  session: ['sessions'],
  trigger: ['triggers'],
  deploy: ['apps'],
  check: ['checks'],
  default_branch: ['change-requests', 'change-request', 'checks', 'branches', 'triggers', 'apps'],
}

/** Streams only while somebody looks: a browser has six connections to one server, and hidden windows need none. */
export function Live({ projectIds }: { projectIds: string[] }) {
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
      : [...new Set([...nouns].flatMap((noun) => touched[noun] ?? []))].map((key) => [key])
    for (const key of keys) void queries.invalidateQueries({ queryKey: ['project', projectId, ...key] })
  })
  const address = () => `/v1/projects/${projectId}/events${lastId === null ? '' : `?after=${lastId}`}`
  const hear = (act: () => void) => (event: MessageEvent) => {
    lastId = event.lastEventId
    act()
  }
  const begin = (stream: EventSource) => {
    for (const type of projectEventTypes)
      stream.addEventListener(
        type,
        hear(() => gathered.add(type.split('.')[0]!)),
      )
    stream.addEventListener(
      'ready',
      hear(() => {}),
    )
    stream.addEventListener(
      'reset',
      hear(() => gathered.add('all')),
    )
    // Whether the service is gone as a whole is for a question to find out (away.tsx).
    stream.addEventListener('error', () => void queries.invalidateQueries({ queryKey: ['me'] }))
  }
  const open = () => {
    if (!document.hidden) end ??= followEvents(address, begin)
  }
  const close = () => {
    end?.()
    end = null
  }
  const look = () => (document.hidden ? close() : open())
  document.addEventListener('visibilitychange', look)
  open()
  return () => {
    document.removeEventListener('visibilitychange', look)
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
