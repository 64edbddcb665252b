/** Writes a response in the chat completions format, streamed or whole. */

export interface ToolCall {
  id: string
  name: string
  arguments: string
}

export interface Answer {
  model: string
  text: string
  call?: ToolCall | undefined
  stream: boolean
}

export function completion(answer: Answer): Response {
  return answer.stream ? streamed(answer) : whole(answer)
}

const id = 'chatcmpl-scripted'
const created = 0
/** Nothing was computed, so no tokens count. */
const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

function whole(answer: Answer): Response {
  const message = {
    role: 'assistant',
    content: answer.text,
    ...(answer.call && { tool_calls: [wireCall(answer.call)] }),
  }
  const choices = [{ index: 0, message, finish_reason: finishReason(answer) }]
  return Response.json({ id, object: 'chat.completion', created, model: answer.model, choices, usage })
}

function streamed(answer: Answer): Response {
  const chunk = (delta: object, finish: string | null) => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model: answer.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const chunks = [
    chunk({ role: 'assistant', content: '' }, null),
    // Streams word by word, like a real model.
    ...(answer.text.match(/\s*\S+/g) ?? []).map((content) => chunk({ content }, null)),
    ...(answer.call ? [chunk({ tool_calls: [{ index: 0, ...wireCall(answer.call) }] }, null)] : []),
    { ...chunk({}, finishReason(answer)), usage },
  ]
  const events = [...chunks.map((data) => JSON.stringify(data)), '[DONE]'].map((data) => `data: ${data}\n\n`)
  return new Response(events.join(''), {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  })
}

function wireCall(call: ToolCall) {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function finishReason(answer: Answer): string {
  return answer.call === undefined ? 'stop' : 'tool_calls'
}
