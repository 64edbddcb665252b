/** A model that streams words for as long as a test wants, and follows the script of a prompt otherwise. */
import { completion } from '../../packages/server/src/models/scripted/chat-format.ts'
import { type ChatRequest, nextMove } from '../../packages/server/src/models/scripted/scripted.ts'

interface TalkingModel {
  url: string
  /** How many answers it has begun to stream. */
  readonly streams: number
  /** Ends each answer, now and from now on, with "the-end". */
  release(): void
  close(): Promise<void>
}

export function talkingModel(): TalkingModel {
  let isReleased = false
  let streams = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const chat = (await request.json()) as ChatRequest
      const last = JSON.stringify(chat.messages.findLast(({ role }) => role === 'user') ?? '')
      if (!chat.stream || !last.includes('TALK'))
        return completion({ ...nextMove(chat), model: 'm', stream: chat.stream === true })
      streams++
      const body = talk(() => isReleased || request.signal.aborted)
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    get streams() {
      return streams
    },
    release() {
      isReleased = true
    },
    close: () => server.stop(true),
  }
}

function talk(isOver: () => boolean): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const chunk = (content: string, finish: string | null) => {
    const choices = [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }]
    return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices })}\n\n`
  }
  let word = 0
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(1_000)
      const isLast = isOver()
      const text = isLast ? `${chunk('the-end', 'stop')}data: [DONE]\n\n` : chunk(`word-${++word} `, null)
      controller.enqueue(encoder.encode(text))
      if (isLast) controller.close()
    },
  })
}
