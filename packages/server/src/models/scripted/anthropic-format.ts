/** The Anthropic messages format: parses requests for the scripted model and writes its responses, streamed or whole. */
import type { ChatMessage, ChatRequest } from './scripted.ts'
import type { Answer, ToolCall } from './chat-format.ts'
import type { Tokens } from '../shapes.ts'

interface Block {
  type: string
  text?: string
  name?: string
  input?: unknown
  content?: string | Block[]
}

export interface MessagesRequest {
  model?: string
  system?: string | Block[]
  messages: { role: string; content: string | Block[] }[]
  tools?: { name: string; input_schema?: { properties?: Record<string, unknown> } }[]
  stream?: boolean
}

export function asChat(request: MessagesRequest): ChatRequest {
  return {
    model: request.model,
    messages: request.messages.flatMap(({ role, content }) => chatMessages(role, content)),
    tools: request.tools?.map(({ name, input_schema }) => ({
      function: { name, ...(input_schema === undefined ? {} : { parameters: input_schema }) },
    })),
    stream: request.stream,
  }
}

/** Tool results are part of a user message, which may also contain text. */
function chatMessages(role: string, content: string | Block[]): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content.filter(({ type }) => type === 'tool_result')
  const texts = content.filter(({ type }) => type === 'text').map(({ text = '' }) => ({ type: 'text', text }))
  const calls = content.filter(({ type }) => type === 'tool_use')
  const message: ChatMessage = {
    role,
    content: texts,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ name = '', input }) => ({ function: { name, arguments: JSON.stringify(input) } })),
        }),
  }
  return [
    ...results.map((result): ChatMessage => ({ role: 'tool', content: textIn(result.content) })),
    ...(texts.length > 0 || calls.length > 0 ? [message] : []),
  ]
}

function textIn(content: string | Block[] | undefined): string {
  if (content === undefined || typeof content === 'string') return content ?? ''
  return content.map(({ text }) => text ?? '').join('\n')
}

/** `usage` is the reported usage. */
export function messagesAnswer(answer: Answer, usage: Tokens = { in: 0, out: 0 }): Response {
  return answer.stream ? streamed(answer, usage) : whole(answer, usage)
}

function messageOf(answer: Answer, usage: Tokens) {
  return {
    id: 'msg_scripted',
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [] as object[],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: { input_tokens: usage.in, output_tokens: usage.out },
  }
}

function whole(answer: Answer, usage: Tokens): Response {
  const { text, call } = answer
  const content = [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...(call === undefined ? [] : [{ ...toolUse(call), input: JSON.parse(call.arguments) as unknown }]),
  ]
  return Response.json({ ...messageOf(answer, usage), content, stop_reason: stopReason(answer) })
}

function streamed(answer: Answer, usage: Tokens): Response {
  const { text, call } = answer
  // Streams word by word, like a real model.
  const words = text.match(/\s*\S+/g) ?? []
  const blocks = [
    ...(text === ''
      ? []
      : [{ start: { type: 'text', text: '' }, deltas: words.map((word) => ({ type: 'text_delta', text: word })) }]),
    ...(call === undefined
      ? []
      : [
          {
            start: { ...toolUse(call), input: {} },
            deltas: [{ type: 'input_json_delta', partial_json: call.arguments }],
          },
        ]),
  ]
  const events = [
    { type: 'message_start', message: messageOf(answer, { in: usage.in, out: 0 }) },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: { output_tokens: usage.out },
    },
    { type: 'message_stop' },
  ]
  return new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  })
}

function toolUse({ id, name }: ToolCall) {
  return { type: 'tool_use', id, name }
}

function stopReason(answer: Answer): string {
  return answer.call === undefined ? 'end_turn' : 'tool_use'
}
