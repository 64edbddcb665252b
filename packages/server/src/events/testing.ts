/** Reads a project's events as a client does. */
import type { ProjectEvent } from '@svc/contract'
import { createParser } from 'eventsource-parser'
import { buildApp } from '../app.ts'
import { until } from '../sessions/testing.ts'
import type { TestApp } from '../testing.ts'

export interface Mark {
  type: 'ready' | 'reset'
  id: number
}

const isMark = (event: ProjectEvent | Mark): event is Mark => event.type === 'ready' || event.type === 'reset'

export async function openProjectEvents(
  app: Pick<TestApp, 'deps'>,
  projectId: string,
  { token, query = '', lastEventId }: { token: string; query?: string; lastEventId?: string },
): Promise<Response> {
  const { publicUrl } = app.deps.config
  return buildApp(app.deps).request(`${publicUrl}/v1/projects/${projectId}/events${query}`, {
    headers: {
      host: new URL(publicUrl).host,
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  })
}

export function readProjectEvents(response: Response) {
  const seen: (ProjectEvent | Mark)[] = []
  let last = ''
  const parser = createParser({
    onEvent: ({ event, id, data }) => {
      const parsed = JSON.parse(data) as ProjectEvent | Mark
      if (event !== parsed.type || id !== String(parsed.id)) throw new Error(`${event} ${id} is not ${data}`)
      last = id
      seen.push(parsed)
    },
  })
  if (response.status !== 200 || response.body === null) throw new Error(`The stream answered ${response.status}.`)
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  const ended = (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(decoder.decode(value, { stream: true }))
    }
  })()
  return {
    seen,
    events: () => seen.filter((event): event is ProjectEvent => !isMark(event)),
    lastId: () => last,
    /** The first event, past or future, that fits. */
    find: (what: string, fits: (event: ProjectEvent | Mark) => boolean) =>
      until(`an event comes: ${what}`, () => seen.find(fits) ?? null),
    /** Resolves when the server ended the stream. */
    ended,
    async close() {
      await reader.cancel()
      await ended
    },
  }
}
