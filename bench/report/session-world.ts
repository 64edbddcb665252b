/** Sessions of a measured server, as a client sees them. */
import { eventsOf } from '../../packages/server/src/testing-events.ts'
import type { Server } from '../../test/e2e/harness.ts'

interface Session {
  session_id: string
  status: string
  error: string | null
}

/** A model that responds at once, so that the measurement covers everything around it. */
export function modelThatAnswersAtOnce() {
  const model = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => firstWord() })
  return {
    environment: { SVC_LLM_UPSTREAM_URL: `http://127.0.0.1:${model.port}/v1`, SVC_LLM_MODEL: 'bench' },
    /** The configuration of a runtime that asks this model itself. */
    runtimeConfig: {
      model: 'bench/bench',
      provider: {
        bench: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `http://127.0.0.1:${model.port}/v1`, apiKey: 'key' },
          models: { bench: {} },
        },
      },
    },
    stop: () => model.stop(true),
  }
}

/** As a client sees it: the response, then `running` on the event stream. */
export async function start(server: Server, project: string) {
  const began = performance.now()
  const { session_id: id } = await server.send<Session>('POST', `/v1/projects/${project}/sessions`, {})
  const answeredMs = performance.now() - began
  await onEvents(server, project, id, (event) => {
    const { session } = event as { session?: Session }
    if (session?.status === 'failed') throw new Error(session.error ?? 'failed')
    return session?.status === 'running'
  })
  return { id, answeredMs, runningMs: performance.now() - began }
}

interface Message {
  message_id: string
  role: string
  parts: { type: string; text?: string }[]
}

/** From sending a prompt to the first text of its answer. */
export async function untilFirstWord(server: Server, project: string, id: string): Promise<number> {
  const session = `/v1/projects/${project}/sessions/${id}`
  const before = await server.send<{ messages: Message[] }>('GET', `${session}/transcript`)
  const known = new Set(before.messages.map(({ message_id }) => message_id))
  let began = 0
  await onEvents(
    server,
    project,
    id,
    (event) => {
      const { message } = event as { message?: Message }
      return (
        message?.role === 'assistant' &&
        !known.has(message.message_id) &&
        message.parts.some((part) => part.type === 'text' && part.text !== '')
      )
    },
    async () => {
      began = performance.now()
      await server.send('POST', `${session}/prompt`, { text: 'Say a word.' })
    },
  )
  return performance.now() - began
}

/** Reads a session's events until one matches. Calls `once` when the stream is open. */
async function onEvents(
  server: Server,
  project: string,
  id: string,
  fits: (event: unknown) => boolean | undefined,
  once: () => Promise<void> = async () => {},
): Promise<void> {
  const closing = new AbortController()
  const { signal } = closing
  const response = await server.api(`/v1/projects/${project}/sessions/${id}/events`, { signal })
  let found = false
  const asked = once()
  for await (const { data } of eventsOf(response.body!)) {
    found = fits(JSON.parse(data)) === true
    if (found) break
  }
  closing.abort()
  await asked
  if (!found) throw new Error('The events ended early.')
}

export async function remove(server: Server, project: string, id: string): Promise<void> {
  await server.api(`/v1/projects/${project}/sessions/${id}`, { method: 'DELETE' })
}

function firstWord(): Response {
  const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench' }
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const text = `${chunk({ role: 'assistant', content: 'word' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}
