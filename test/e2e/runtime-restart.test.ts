/** The agent runtime of a session dies, and a prompt comes in the moments until it is back. */
import { expect, test } from 'bun:test'
import type { Message, Prompt, Session } from '@svc/contract'
import { makeFirstCommit, Server, until } from './harness.ts'
import { below } from './processes.ts'

test('a prompt that arrives while the runtime restarts waits for it and runs once', async () => {
  const server = await Server.start()
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'dies'])
    await makeFirstCommit(server, project)
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo'],
    ])
    const path = `/v1/projects/${project}/sessions/${id}`
    const read = <T>(more: string) => server.send<T>('GET', `${path}${more}`)
    await until('the session to run', async () => (await read<Session>('')).status === 'running')
    const prompt = (text: string) => server.send<{ prompt_id: string }>('POST', `${path}/prompt`, { text })
    const settled = (promptId: string) =>
      until('the prompt to be settled and its turn to end', async () => {
        const { prompts } = await read<{ prompts: Prompt[] }>('/prompts')
        const found = prompts.find((each) => each.prompt_id === promptId)
        const { is_busy: isBusy } = await read<Session>('?include=activity')
        return found?.status !== 'accepted' && isBusy === false && found
      })
    expect(await settled((await prompt('First')).prompt_id)).toMatchObject({ status: 'delivered' })

    // Once as soon as it is dead, and once a moment later, when its restart is under way.
    for (const [text, waitMs] of [
      ['Second', 0],
      ['Third', 50],
    ] as const) {
      for (const pid of below(server.pid, 'opencode')) process.kill(pid, 'SIGKILL')
      await Bun.sleep(waitMs)
      const { prompt_id: promptId } = await prompt(text)
      expect(await settled(promptId)).toMatchObject({ status: 'delivered', error: null })
      expect((await read<Session>('')).last_turn_error).toBeNull()
    }
    const { messages } = await read<{ messages: Message[] }>('/transcript')
    const said = (message: Message) => message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    expect(messages.filter(({ role }) => role === 'user').map(said)).toEqual(['First', 'Second', 'Third'])
    for (const [at, message] of messages.entries())
      if (message.role === 'user') expect(messages[at + 1]).toMatchObject({ role: 'assistant', error: null })
  } finally {
    await server.end()
  }
}, 300_000)
