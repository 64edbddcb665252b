import { describe, expect, test } from 'bun:test'
import { asChat, messagesAnswer } from './anthropic-format.ts'
import { UsageReader } from '../shapes.ts'

describe('requests in the format of the messages API', () => {
  test('converts a request into a conversation, with tool results before the text beside them', () => {
    const chat = asChat({
      messages: [
        { role: 'user', content: 'Do it' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'First.' },
            { type: 'tool_use', name: 'bash', input: { command: 'ls' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'And?' },
            { type: 'tool_result', content: [{ type: 'text', text: 'a.txt\n[exit 0]' }] },
          ],
        },
      ],
      tools: [{ name: 'bash', input_schema: { properties: { command: {} } } }],
      stream: true,
    })
    expect(chat).toMatchObject({
      messages: [
        { role: 'user', content: 'Do it' },
        { role: 'assistant', tool_calls: [{ function: { name: 'bash', arguments: '{"command":"ls"}' } }] },
        { role: 'tool', content: 'a.txt\n[exit 0]' },
        { role: 'user', content: [{ type: 'text', text: 'And?' }] },
      ],
      tools: [{ function: { name: 'bash', parameters: { properties: { command: {} } } } }],
      stream: true,
    })
  })
})

describe('replies in the format of the messages API', () => {
  const answer = { model: 'm', text: 'Two words.', call: { id: 'c', name: 'bash', arguments: '{"command":"ls"}' } }

  test('returns the same content and usage in one piece and as a stream', async () => {
    const usage = { in: 7, out: 3 }
    const whole = (await messagesAnswer({ ...answer, stream: false }, usage).json()) as { content: object[] }
    expect(whole.content).toEqual([
      { type: 'text', text: 'Two words.' },
      { type: 'tool_use', id: 'c', name: 'bash', input: { command: 'ls' } },
    ])
    const lines = (await messagesAnswer({ ...answer, stream: true }, usage).text()).split('\n')
    const events = lines
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as { type: string; delta?: { text?: string; partial_json?: string } })
    expect(events.map(({ delta }) => delta?.text ?? '').join('')).toBe('Two words.')
    expect(events.map(({ delta }) => delta?.partial_json ?? '').join('')).toBe('{"command":"ls"}')
    expect(events.at(-1)).toEqual({ type: 'message_stop' })
    const [streamed, inOne] = [new UsageReader('anthropic'), new UsageReader('anthropic')]
    for (const event of events) streamed.read(event)
    inOne.read(whole)
    expect([streamed.tokens({ in: 0 }), inOne.tokens({ in: 0 })]).toEqual([usage, usage])
  })
})
