/** Reads a project's events as a client does. */
import type { ProjectEvent } from '@svc/contract'
import { buildApp } from '../app.ts'
import type { TestApp } from '../testing.ts'
import { readInBackground } from '../testing-events.ts'

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
  const reader = readInBackground(response, ({ event, id, data }) => {
    const parsed = JSON.parse(data) as ProjectEvent | Mark
    if (event !== parsed.type || id !== String(parsed.id)) throw new Error(`${event} ${id} is not ${data}`)
    return parsed
  })
  return {
    ...reader,
    events: () => reader.seen.filter((event): event is ProjectEvent => !isMark(event)),
    lastId: () => String(reader.seen.at(-1)?.id ?? ''),
  }
}
