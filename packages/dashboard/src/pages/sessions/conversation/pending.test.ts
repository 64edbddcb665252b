/** Three prompts that are sent one after the other stay on the page from the click until the conversation has them. */
import { expect, test } from 'bun:test'
import type { Message, Prompt } from '../queries.ts'
import { pendingPrompts } from './pending.ts'
import { promptsByMessage } from './prompts-by-message.ts'
import type { Outgoing } from './use-draft.ts'

const at = '2026-11-21T12:00:00.000Z'
const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const prompt = (n: number, status: Prompt['status'], text = `prompt ${n}`): Prompt => ({
  ...{ prompt_id: id(n), text, status, error: null, created_by: null, created_at: at, settled_at: null },
  ...{ attachments: [], agent_name: `agent ${n}`, model: null },
})
const sent = (n: number, promptId: string | null = id(n)): Outgoing => ({
  ...{ id: `sent ${n}`, text: `prompt ${n}`, choice: {}, files: [], sentAt: at, promptId },
})
const message = (n: number, more: Partial<Message> = {}): Message => ({
  ...{ message_id: `msg_${n}`, role: 'user', created_at: at, completed_at: at, error: null },
  parts: [{ type: 'text', id: `prt_${n}`, text: `prompt ${n}` }],
  ...more,
})
const named = (n: number) => message(n, { prompt_id: id(n) })
const nothing = { messages: [], waiting: [], outgoing: [], outcomes: [] }
const shown = (of: Partial<Parameters<typeof pendingPrompts>[0]>) => {
  const { waiting, outgoing } = pendingPrompts({ ...nothing, ...of })
  return [...outgoing.before, ...waiting, ...outgoing.after].map(({ text }) => text)
}
const all = ['prompt 1', 'prompt 2', 'prompt 3']

test('a prompt is shown once, at every moment between the click and its message', () => {
  const outgoing = [sent(1), sent(2), sent(3, null)]
  expect(shown({ outgoing })).toEqual(all)
  expect(shown({ outgoing, waiting: [prompt(1, 'accepted'), prompt(2, 'accepted')] })).toEqual(all)
  // The list is quicker than the answer to the request.
  const accepted = [1, 2, 3].map((n) => prompt(n, 'accepted'))
  expect(shown({ outgoing, waiting: accepted })).toEqual(all)
  // So is the conversation.
  expect(shown({ outgoing, messages: [named(3)] })).toEqual(all.slice(0, 2))
  const earlier = { ...named(3), created_at: '2026-11-21T11:00:00.000Z' }
  expect(shown({ outgoing, messages: [earlier] })).toEqual(all)
  // The same text twice is two prompts.
  const twice = [sent(1), { ...sent(2, null), text: 'prompt 1' }]
  expect(shown({ outgoing: twice, waiting: accepted.slice(0, 1) })).toEqual(['prompt 1', 'prompt 1'])
  expect(shown({ outgoing: twice, waiting: [accepted[0]!, prompt(2, 'accepted', 'prompt 1')] })).toEqual([
    ...['prompt 1', 'prompt 1'],
  ])
  // The agent has the first one, and its message is not there yet.
  const taken = {
    outgoing: outgoing.slice(0, 2).concat(sent(3)),
    waiting: [prompt(2, 'accepted'), prompt(3, 'accepted')],
  }
  expect(shown({ ...taken, outcomes: [prompt(1, 'delivered')] })).toEqual(all)
  expect(shown({ ...taken, messages: [named(1)] })).toEqual(['prompt 2', 'prompt 3'])
  // The list is older than the messages.
  expect(shown({ ...taken, messages: [named(1), named(2)] })).toEqual(['prompt 3'])
})

test.each(['failed', 'cancelled'] as const)('a prompt that %s is shown no longer', (status) => {
  expect(shown({ outgoing: [sent(1), sent(2)], outcomes: [prompt(1, status)] })).toEqual(['prompt 2'])
})

test('a sandbox that does not name the prompts of its messages shows a delivered one as today', () => {
  const messages = [message(1)]
  expect(shown({ messages, outgoing: [sent(2)], outcomes: [prompt(2, 'delivered')] })).toEqual([])
  expect(shown({ messages, outgoing: [sent(2)], outcomes: [prompt(2, 'accepted')] })).toEqual(['prompt 2'])
})

test('a message is paired with the prompt that it names, and else with the one of its text', () => {
  const prompts = [prompt(3, 'delivered', 'same'), prompt(2, 'delivered', 'same'), prompt(1, 'delivered', 'same')]
  const same = { parts: [{ type: 'text' as const, id: 'p', text: 'same' }] }
  const paired = (messages: Message[]) =>
    Object.fromEntries([...promptsByMessage(messages, prompts)].map(([key, { agent_name: agent }]) => [key, agent]))
  // The first prompt has no message yet, and the messages came in another order.
  expect(paired([message(1, { ...same, prompt_id: id(3) }), message(2, { ...same, prompt_id: id(2) })])).toEqual({
    ...{ msg_1: 'agent 3', msg_2: 'agent 2' },
  })
  expect(paired([message(1, same), message(2, { ...same, prompt_id: id(3) })])).toEqual({
    ...{ msg_1: 'agent 2', msg_2: 'agent 3' },
  })
})
