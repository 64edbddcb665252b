import { expect, test } from 'bun:test'
import { type ChatMessage, type ChatRequest, scriptedCompletion } from './scripted.ts'

const bash = { function: { name: 'bash', parameters: { properties: { command: {}, timeout: {} } } } }

interface Answer {
  content: string
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}

async function ask(messages: ChatMessage[], more: Partial<ChatRequest> = {}): Promise<Answer> {
  const reply = scriptedCompletion({ messages, tools: [bash], ...more })
  return ((await reply.json()) as { choices: { message: Answer }[] }).choices[0]!.message
}

function commandOf(answer: Answer): string {
  return (JSON.parse(answer.tool_calls![0]!.function.arguments) as { command: string }).command
}

/** Plays the runtime: runs the tools the model calls until it calls none. */
async function converse(messages: ChatMessage[], run: (command: string) => string) {
  const commands: string[] = []
  for (;;) {
    const answer = await ask(messages)
    messages.push({ role: 'assistant', ...answer })
    if (answer.tool_calls === undefined) return { commands, last: answer.content }
    commands.push(commandOf(answer))
    messages.push({ role: 'tool', content: run(commands.at(-1)!) })
  }
}

const fine = (command: string) =>
  command.includes('svc cr open') ? '#7\topen\tAdd a greeting\n[exit 0]\n' : '(no output)\n[exit 0]'

test('leads from a change to a change request, says first that it is not an AI, and names the change request last', async () => {
  const messages: ChatMessage[] = [
    { role: 'system', content: 's' },
    { role: 'user', content: 'Add a greeting' },
  ]
  const { commands, last } = await converse(messages, fine)
  expect(commands).toHaveLength(4)
  expect(commands[1]).toContain('git add -A && git commit')
  expect(commands[2]).toContain('git push origin HEAD')
  expect(commands[3]).toContain('svc cr open --title')
  expect(messages[2]?.content).toContain('scripted demonstration')
  expect(messages[2]?.content).toContain('not an AI')
  expect(last).toContain('#7')

  messages.push({ role: 'user', content: [{ type: 'text', text: 'once more' }] })
  const second = await converse(messages, fine)
  expect(second.commands).toHaveLength(3)
  expect(second.last).toContain('#7')
})

test('runs the commands of a svc-script block instead', async () => {
  const prompt = 'Please:\n```svc-script\necho one\n\n# a remark\ngit push origin HEAD || exit 4\n```\nthanks'
  const { commands, last } = await converse([{ role: 'user', content: prompt }], () => 'out\n[exit 0]')
  expect(commands).toEqual([
    'echo one\ncode=$?; echo "[exit $code]"; (exit $code)',
    '(git push origin HEAD || exit 4\n)\ncode=$?; echo "[exit $code]"; (exit $code)',
  ])
  expect(last).toContain('All 2 commands')
  const described = { function: { name: 'bash', parameters: { properties: { command: {}, description: {} } } } }
  const { tool_calls: calls } = await ask([{ role: 'user', content: prompt }], { tools: [described] })
  expect(JSON.parse(calls![0]!.function.arguments)).toMatchObject({ description: 'echo one' })
})

test('calls a tool that a line of the block names, and says when there is none', async () => {
  const prompt = '```svc-script\n@svc_notes_read {"page":2}\necho done\n```'
  const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
  const tools = [bash, { function: { name: 'svc_notes_read' } }]
  const first = await ask(messages, { tools })
  expect(first.tool_calls![0]!.function).toEqual({ name: 'svc_notes_read', arguments: '{"page":2}' })
  messages.push({ role: 'assistant', ...first }, { role: 'tool', content: 'two notes' })
  expect(commandOf(await ask(messages, { tools }))).toContain('echo done')
  expect((await ask([{ role: 'user', content: prompt }])).content).toContain('there is no tool svc_notes_read')
})

test('stops at a command that fails or does not end, and says which', async () => {
  const failed = await converse([{ role: 'user', content: 'go' }], () => 'fatal: no\n[exit 128]')
  expect(failed.commands).toHaveLength(1)
  expect(failed.last).toContain('exit code 128')
  expect(failed.last).toContain('fatal: no')
  const denied = await converse([{ role: 'user', content: 'go' }], () => 'The tool was refused')
  expect(denied.last).toContain('did not finish')
  expect(denied.last).toContain('The tool was refused')
})

test('answers a request without tools with a short title, and one without bash with an explanation', async () => {
  expect(await ask([{ role: 'user', content: 'x' }], { tools: [] })).toEqual({
    role: 'assistant',
    content: 'Scripted demonstration',
  } as Answer)
  expect((await ask([{ role: 'user', content: 'x' }], { tools: [{ function: { name: 'read' } }] })).content).toContain(
    'bash',
  )
})

test('streams the same reply as events', async () => {
  const request: ChatRequest = { messages: [{ role: 'user', content: 'x' }], tools: [bash] }
  const reply = scriptedCompletion({ ...request, stream: true })
  expect(reply.headers.get('content-type')).toContain('text/event-stream')
  const events = (await reply.text()).split('\n\n').filter((event) => event !== '')
  expect(events.at(-1)).toBe('data: [DONE]')
  const deltas = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)).choices[0])
  const answer = await ask(request.messages)
  expect(deltas.map(({ delta }) => delta.content ?? '').join('')).toBe(answer.content)
  expect(deltas.find(({ delta }) => delta.tool_calls)?.delta.tool_calls[0].function).toEqual(
    answer.tool_calls![0]!.function,
  )
  expect(deltas.at(-1)?.finish_reason).toBe('tool_calls')
})
