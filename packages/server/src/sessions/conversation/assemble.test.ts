/** The reason of a failed turn, and the end of a tool call. */
import { expect, test } from 'bun:test'
import { Redaction } from '../../redaction/redaction.ts'
import { Conversation } from './assemble.ts'
import { TranscriptRedactor } from './transcript-redaction.ts'

const at = '2026-03-01T12:00:00.000Z'
const prompt = { prompt_id: '6f9619ff-8b86-4011-b42d-00c04fc964ff', text: 'go', created_at: at, attachments: [] }
const info = (id: string, role: 'user' | 'assistant', more: object = {}) => ({
  ...{ id, role, sessionID: 'ses', time: { created: Date.parse(at) } },
  ...more,
})
const failure = (message: string) => ({ code: 'runtime_ended', message })
const begun = (...messages: object[]) => {
  const conversation = new Conversation('ses', new TranscriptRedactor(new Redaction().of('s'), () => new Date(at)))
  conversation.beginTurn()
  for (const message of messages)
    conversation.apply({ type: 'message.updated', properties: { sessionID: 'ses', info: message } })
  return conversation
}

test('is the last message of the turn, also after the runtime sent its messages again', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  expect(conversation.failTurn(failure('It died.'))).toEqual(['msg_2'])
  conversation.load([
    { info: info('msg_1', 'user'), parts: [] },
    { info: info('msg_2', 'assistant'), parts: [] },
  ])
  expect(['msg_1', 'msg_2'].map((id) => conversation.message(id)?.error)).toEqual([null, 'It died.'])
})

test('names the prompt of a message by its part, and never by an id that no prompt has', () => {
  const withPart = (messageId: string, partId: string) => {
    const conversation = begun(info(messageId, 'user'))
    const part = { id: partId, messageID: messageId, type: 'text', text: 'go' }
    conversation.apply({ type: 'message.part.updated', properties: { sessionID: 'ses', part } })
    return conversation.message(messageId)?.prompt_id
  }
  const hex = prompt.prompt_id.replaceAll('-', '')
  expect(withPart('msg_1', `prt_0123456789ab${hex}`)).toBe(prompt.prompt_id)
  expect(withPart(prompt.prompt_id, 'prt_1')).toBe(prompt.prompt_id)
  const others = ['prt_0123456789abAbCdEfGhIjKlMn', `prt_0123456789ab${'0'.repeat(32)}`, `prt_${hex}`, 'prt_1']
  for (const id of others) expect(withPart('msg_1', id)).toBeUndefined()
  expect(withPart('00000000-0000-0000-0000-00000000000f', 'prt_1')).toBeUndefined()
})

test('is the prompt when no answer began, and the reason of an answer is its own', () => {
  expect(begun(info('msg_1', 'user')).failTurn(failure('It died.'))).toEqual(['msg_1'])
  const error = { name: 'APIError', data: { message: 'No credit.' } }
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant', { error }))
  conversation.failTurn(failure('Something else.'))
  expect(conversation.message('msg_2')?.error).toBe('No credit.')
  expect(conversation.failure()).toEqual({ code: 'model_request_failed', message: 'No credit.' })
})

test('is never the answer of the turn before, and a prompt the runtime did not keep stands in its place', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  conversation.beginTurn()
  expect(conversation.failTurn(failure('It did not begin.'))).toEqual([])
  expect(conversation.isEmptyTurn).toBe(true)
  conversation.failPrompt(prompt, failure('It did not begin.'), new Date(at))
  expect(conversation.message(prompt.prompt_id)).toMatchObject({
    ...{
      role: 'user',
      created_at: at,
      error: 'It did not begin.',
      error_code: 'runtime_ended',
      parts: [{ type: 'text', text: 'go' }],
    },
  })
})

test('a tool call has the exit code of its command and its duration, where the runtime gives them', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  const ended = (id: string, more: object) => {
    const part = { id, messageID: 'msg_2', type: 'tool', tool: 'bash', state: { status: 'completed', ...more } }
    conversation.apply({ type: 'message.part.updated', properties: { sessionID: 'ses', part } })
    return conversation.message('msg_2')!.parts.at(-1)!
  }
  const time = { start: 1_000, end: 3_500 }
  expect(ended('a', { metadata: { exit: 2 }, time })).toMatchObject({ exit_code: 2, duration_ms: 2_500 })
  expect(ended('b', { metadata: { exit: null }, time: { start: 1_000 } })).toMatchObject({ exit_code: null })
  const without = ended('c', { metadata: { exit: 'no number' } })
  expect(without).toMatchObject({ type: 'tool', status: 'completed' })
  expect(Object.keys(without)).not.toContain('exit_code')
  expect(Object.keys(without)).not.toContain('duration_ms')
})

test('the duration of a call counts from its first start, which the runtime sets again with each output', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  const send = (status: string, time: object) => {
    const part = { id: 'a', messageID: 'msg_2', type: 'tool', tool: 'bash', state: { status, time } }
    conversation.apply({ type: 'message.part.updated', properties: { sessionID: 'ses', part } })
  }
  send('running', { start: 1_000 })
  send('running', { start: 25_000 })
  send('completed', { start: 26_000, end: 26_010 })
  expect(conversation.message('msg_2')?.parts[0]).toMatchObject({ duration_ms: 25_010 })
})

test('a tool that ran when its turn was cut has ended, and so has one of an answer before the newest', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'), info('msg_3', 'user'))
  const state = { status: 'running', input: { command: 'make' }, metadata: { output: 'half' } }
  const part = { id: 'a', messageID: 'msg_2', type: 'tool', tool: 'bash', state }
  conversation.apply({ type: 'message.part.updated', properties: { sessionID: 'ses', part } })
  const tool = () => conversation.message('msg_2')?.parts.at(-1)
  expect(tool()).toMatchObject({ status: 'running' })
  // A prompt that was refused meanwhile is no end of the turn.
  conversation.failPrompt(prompt, failure('Refused.'), new Date(at))
  expect(tool()).toMatchObject({ status: 'running' })
  expect(conversation.failTurn(failure('It died.'))).toEqual(['msg_2'])
  expect(tool()).toMatchObject({ status: 'error', output: expect.stringContaining('The turn ended before this did.') })

  const later = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  later.apply({ type: 'message.part.updated', properties: { sessionID: 'ses', part } })
  later.apply({ type: 'message.updated', properties: { sessionID: 'ses', info: info('msg_4', 'assistant') } })
  expect(later.message('msg_2')?.parts.at(-1)).toMatchObject({ status: 'error' })
})

test('an edit has its diff, without secrets and cut at a limit', () => {
  const redaction = new Redaction()
  redaction.given('s', [['API_KEY', 'sk-verysecret-0123456789']])
  const conversation = new Conversation('ses', new TranscriptRedactor(redaction.of('s'), () => new Date(at)))
  const update = (type: string, properties: object) =>
    conversation.apply({ type, properties: { sessionID: 'ses', ...properties } })
  update('message.updated', { info: info('msg_1', 'assistant') })
  const edit = (diff: unknown) => {
    const state = { status: 'completed', metadata: { diff } }
    update('message.part.updated', { part: { id: 'a', messageID: 'msg_1', type: 'tool', tool: 'edit', state } })
    return conversation.message('msg_1')!.parts[0]!
  }
  const diff = '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+sk-verysecret-0123456789\n'
  expect(edit(diff)).toMatchObject({ diff: expect.stringMatching(/^--- a\.txt[^]*\n-one\n\+(?!sk-)/) })
  expect(JSON.stringify(edit(diff))).not.toContain('sk-verysecret')
  expect((edit('+x\n'.repeat(50_000)) as { diff: string }).diff.length).toBeLessThan(66_000)
  expect(Object.keys(edit(7))).not.toContain('diff')
})

test('a text whose start was missed stays as it was known until it is whole, and one that begins later grows', () => {
  type Step = { stored: string } | { part: object } | { delta: string }
  const textsAfter = (...steps: Step[]) => {
    const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
    const of = { id: 'prt_1', messageID: 'msg_2', type: 'text' }
    for (const step of steps) {
      if ('stored' in step)
        conversation.load([{ info: info('msg_2', 'assistant'), parts: [{ ...of, text: step.stored }] }])
      else if ('part' in step)
        conversation.apply({ type: 'message.part.updated', properties: { part: { ...of, ...step.part } } })
      else {
        const properties = { messageID: 'msg_2', partID: 'prt_1', field: 'text', delta: step.delta }
        conversation.apply({ type: 'message.part.delta', properties })
      }
    }
    // The end of a text that grows is held back, since a secret may begin there.
    conversation.end()
    return conversation.message('msg_2')!.parts.map((part) => (part.type === 'text' ? part.text : part.type))
  }
  const whole = { text: 'one two three', time: { start: 1, end: 2 } }
  expect(textsAfter({ stored: '' }, { delta: 'two ' })).toEqual([''])
  expect(textsAfter({ stored: '' }, { delta: 'two ' }, { part: whole })).toEqual(['one two three'])
  expect(textsAfter({ stored: '' }, { part: { text: '' } }, { delta: 'one ' })).toEqual(['one '])
  expect(textsAfter({ part: { text: '' } }, { delta: 'one ' }, { stored: '' }, { delta: 'three' })).toEqual(['one '])
})

test('a call of a sub-agent shows its tool calls, from events and from its history', () => {
  const conversation = begun(info('msg_1', 'user'), info('msg_2', 'assistant'))
  const state = { status: 'running', input: { description: 'Look' }, metadata: { sessionId: 'child' } }
  const task = { id: 'task', messageID: 'msg_2', type: 'tool', tool: 'task', state }
  const step = (id: string, more: object) => ({
    ...{ id, messageID: 'msg_9', type: 'tool', tool: 'bash' },
    state: { status: 'completed', input: { command: `run ${id}` }, ...more },
  })
  const send = (sessionID: string, part: object) =>
    conversation.apply({ type: 'message.part.updated', properties: { sessionID, part } })
  expect(send('child', step('early', {}))).toEqual({ kind: 'nothing' })
  send('ses', task)
  expect(conversation.unreadSubAgents).toEqual(['child'])
  expect(send('child', step('a', { metadata: { exit: 3 }, time: { start: 0, end: 1_500 } }))).toEqual({
    ...{ kind: 'message', messageId: 'msg_2' },
  })
  expect(send('child', { ...step('text', {}), type: 'text', text: 'no call' })).toEqual({ kind: 'nothing' })
  expect(conversation.loadSubAgent('child', [{ parts: [step('b', { status: 'running' })] }])).toBe('msg_2')
  expect(conversation.unreadSubAgents).toEqual([])
  const shown = conversation.message('msg_2')!.parts[0]
  expect(shown).toMatchObject({
    steps: [
      { tool: 'bash', title: 'run a', status: 'completed', exit_code: 3, duration_ms: 1_500 },
      { tool: 'bash', title: 'run b', status: 'running' },
    ],
  })
  for (let i = 0; i < 200; i++) send('child', step(`more-${i}`, {}))
  expect((conversation.message('msg_2')!.parts[0] as { steps: object[] }).steps).toHaveLength(100)
})
