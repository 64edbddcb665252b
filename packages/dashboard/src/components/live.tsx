/** Keeps what is shown of projects as it is now: each event of theirs makes the answers it touches be asked for again. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { projectEventTypes } from '@svc/contract/event-types'

/** A burst of events is one look. */
const gatherMs = 150
const openAgainMs = 5_000

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
  let stream: EventSource | null = null
  let lastId: string | null = null
  let again: ReturnType<typeof setTimeout> | undefined
  const gathered = gather((nouns) => {
    const keys = nouns.has('all')
      ? [[]]
      : [...new Set([...nouns].flatMap((noun) => touched[noun] ?? []))].map((key) => [key])
    for (const key of keys) void queries.invalidateQueries({ queryKey: ['project', projectId, ...key] })
  })
  const open = () => {
    clearTimeout(again)
    if (document.hidden || stream !== null) return
    const after = lastId === null ? '' : `?after=${lastId}`
    const opened = new EventSource(`/v1/projects/${projectId}/events${after}`)
    stream = opened
    const hear = (act: () => void) => (event: MessageEvent) => {
      lastId = event.lastEventId
      act()
    }
    for (const type of projectEventTypes)
      opened.addEventListener(
        type,
        hear(() => gathered.add(type.split('.')[0]!)),
      )
    opened.addEventListener(
      'ready',
      hear(() => {}),
    )
    opened.addEventListener(
      'reset',
      hear(() => gathered.add('all')),
    )
    opened.addEventListener('error', () => {
      // Whether the service is gone as a whole is for a question to find out (away.tsx).
      void queries.invalidateQueries({ queryKey: ['me'] })
      // It comes again by itself unless it was refused.
      if (opened.readyState !== EventSource.CLOSED || stream !== opened) return
      stream = null
      again = setTimeout(open, openAgainMs)
    })
  }
  const close = () => {
    clearTimeout(again)
    stream?.close()
    stream = null
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
