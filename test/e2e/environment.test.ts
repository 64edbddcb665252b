/** The environment of the agent in a real session is exactly the list: nothing is missing, and there is nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sandboxVariables } from '@svc/contract/daemon/sandbox-environment'
import { makeFirstCommit, Server, until } from './harness.ts'

let server: Server
beforeAll(async () => {
  // Credentials of the server, which no sandbox may have.
  server = await Server.start({ AWS_ACCESS_KEY_ID: 'one', AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-server' })
}, 120_000)
afterAll(() => server.end())

interface Transcript {
  messages: { parts: { type: string; status?: string; output?: string }[] }[]
}

test('a program of the agent has exactly the listed variables', async () => {
  const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'env'])
  await makeFirstCommit(server, project)
  expect((await server.svc(['secrets', 'set', 'MY_SECRET=some-value-of-it', '--project', project])).code).toBe(0)
  const prompt = ['Look.', '', '```svc-script', "env -0 | cut -z -d= -f1 | tr '\\0' '\\n'; echo end", '```'].join('\n')
  const { session_id: session } = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--prompt', prompt, '--project', project],
  ])
  const output = await until('the agent to have looked', async () => {
    const reply = await server.api(`/v1/projects/${project}/sessions/${session}/transcript`)
    const { messages } = (await reply.json()) as Transcript
    const tool = messages
      .flatMap(({ parts }) => parts)
      .find(({ type, status }) => type === 'tool' && status === 'completed')
    return tool?.output ?? null
  })
  const found = output.split('\nend')[0]!.split('\n')
  const notHere = [
    ...[
      'SVC_LLM_SHAPE',
      'SVC_LLM_MODELS',
      'SVC_RUNTIME_COMMAND',
      'SVC_SANDBOX_SETUP',
      'COLORTERM',
      'npm_config_user_agent',
    ],
  ]
  for (const name of notHere) expect(sandboxVariables[name]?.when).toBeString()
  const named = Object.keys(sandboxVariables).filter((name) => !notHere.includes(name))
  expect(found.toSorted()).toEqual([...named, 'MY_SECRET'].toSorted())
}, 240_000)
