/** An idle session with the real agent runtime: it takes no processor time, and goes on when it is needed. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { procFile, runningProcesses } from '../processes.ts'
import { below } from '../torture/sandbox-leaks.ts'
import { makeFirstCommit, removeFolder, Server, until } from './harness.ts'

setDefaultTimeout(600_000)

interface Session {
  session_id: string
  status: string
  error: string | null
  sandbox_url: string
}
interface Health {
  status: string
  runtime: string
  error: string | null
  runtime_asleep_ms: number | null
  uptime_ms: number
}

interface Part {
  type: string
  text?: string
  status?: string
  output?: string
  exit_code?: number | null
}

let server: Server
let sessions: string
let session: Session
beforeAll(async () => {
  server = await Server.start({ SVC_RUNTIME_FREEZE_SECONDS: '2', SVC_RUNTIME_STOP_SECONDS: '0' })
  const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'idle'])
  sessions = `/v1/projects/${project_id}/sessions`
  await makeFirstCommit(server, project_id)
  session = await startSession()
})
afterAll(async () => {
  await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
  await server.exited
  await removeFolder(server.dir)
})

async function startSession(): Promise<Session> {
  const { session_id } = await server.send<Session>('POST', sessions, { model: 'svc-scripted-demo' })
  return until('the session to run', async () => {
    const found = await server.send<Session>('GET', `${sessions}/${session_id}`)
    if (found.status === 'failed') throw new Error(found.error ?? 'failed')
    return found.status === 'running' && found
  })
}

const health = async () => (await (await fetch(`${session.sandbox_url}/svc/health`)).json()) as Health
const asleep = () => until('the runtime to freeze', async () => (await health()).runtime_asleep_ms !== null)
const stateOfRuntime = () => {
  const names = runningProcesses()
  const runtime = below(server.pid).find(({ pid }) => names.get(pid)?.name === 'opencode')
  return runtime === undefined ? null : /^State:\s+(\w)/m.exec(procFile(runtime.pid, 'status'))?.[1]
}

async function staysAwake(): Promise<void> {
  const seen = new Set<string | null | undefined>()
  // Longer than the runtime may be idle, by its own clock.
  const { uptime_ms: before } = await health()
  await until('some seconds of the daemon', async () => {
    seen.add(stateOfRuntime())
    return (await health()).uptime_ms > before + 6_000
  })
  expect(seen).not.toContain('T')
}

/** Prompts the agent and waits until its command has printed the mark. */
async function agentRuns(mark: string, ...lines: string[]): Promise<void> {
  const text = ['Do this.', '', '```svc-script', ...lines, `printf '%s-done\\n' ${mark}`, '```'].join('\n')
  await server.send('POST', `${sessions}/${session.session_id}/prompt`, { text })
  await until(`the agent to reach ${mark}`, async () => {
    const transcript = await server.send<{ messages: { parts: { output?: string }[] }[] }>(
      'GET',
      `${sessions}/${session.session_id}/transcript`,
    )
    return transcript.messages.some(({ parts }) => parts.some(({ output }) => output?.includes(`${mark}-done`)))
  })
}

test('an idle session freezes its runtime, stays running, and its next prompt continues the conversation', async () => {
  await agentRuns('first', 'echo work > note.txt')
  await asleep()
  expect(stateOfRuntime()).toBe('T')
  expect(await health()).toMatchObject({ status: 'ready', runtime: 'ready', error: null })
  await agentRuns('second', 'cat note.txt')
  const found = await server.send<Session>('GET', `${sessions}/${session.session_id}`)
  expect([found.status, found.error]).toEqual(['running', null])
  // One conversation of the runtime has both turns.
  await asleep()
  const conversations = await (await server.api(`${new URL(session.sandbox_url).pathname}/session`)).json()
  expect(conversations).toHaveLength(1)
  await asleep()
})

test('a command that kills its own shell ends at once with its exit code, and the agent goes on', async () => {
  const path = `${sessions}/${session.session_id}`
  await server.send('POST', `${path}/prompt`, {
    text: ['Do this.', '', '```svc-script', 'kill -9 $$', '```'].join('\n'),
  })
  const parts = await until('the agent to answer', async () => {
    const { messages } = await server.send<{ messages: { parts: Part[] }[] }>('GET', `${path}/transcript`)
    const all = messages.flatMap((message) => message.parts)
    return all.at(-1)?.text?.includes('I stop here') && all
  })
  const call = parts.findLast(({ type }) => type === 'tool')
  expect(call).toMatchObject({ status: 'completed', exit_code: 137 })
  expect(call?.output).toContain('Signal 9 ended this command; exit code 137.')
  await asleep()
  expect(await server.send<object>('GET', path)).toMatchObject({
    status: 'running',
    error: null,
    last_turn_error: null,
  })
})

test('a turn ends while a server that the agent started holds the output of its command, and the server goes on', async () => {
  const path = `${sessions}/${session.session_id}`
  const code = `Bun.serve({ port: 4100, hostname: "127.0.0.1", fetch: () => { console.log("asked"); return new Response("served\\n") } })`
  const ask = 'for i in $(seq 200); do curl -sf http://127.0.0.1:4100/ && break; sleep 0.1; done'
  await agentRuns('started', `BUN_BE_BUN=1 setsid /usr/local/bin/svc --eval '${code}' & echo $! > /tmp/pid`, ask)
  const { messages } = await server.send<{ messages: { parts: Part[] }[] }>('GET', `${path}/transcript`)
  const outputs = messages.flatMap(({ parts }) => parts.flatMap(({ output }) => output ?? []))
  const said = outputs.findIndex((output) => output.includes('which it started in the background, still runs'))
  expect(outputs[said]).toContain('[exit 0]')
  expect(outputs[said + 1]).toContain('served')
  await staysAwake()
  expect(await server.send<object>('GET', `${path}?include=activity`)).toMatchObject({
    ...{ status: 'running', error: null, is_busy: false, last_turn_error: null },
  })
  await agentRuns('asked', ask, 'kill "$(cat /tmp/pid)"')
  await asleep()
})

test('a program that the agent left running, such as a dev server, keeps the runtime awake until it ends', async () => {
  await agentRuns('serving', 'nohup sleep 600 > /dev/null 2>&1 & echo $! > /tmp/pid')
  await staysAwake()
  await agentRuns('ended', 'kill "$(cat /tmp/pid)"')
  await asleep()
  expect(stateOfRuntime()).toBe('T')
})

test('a session that stays idle stops its runtime without an error, and its next prompt continues the conversation', async () => {
  await server.kill('SIGTERM')
  server.env.SVC_RUNTIME_STOP_SECONDS = '1'
  server.env.SVC_SANDBOX_LEASE_SECONDS = '600'
  await server.boot()
  session = await startSession()
  await agentRuns('before', 'echo kept > kept.txt')
  await until('the runtime to stop', async () => (await health()).runtime === 'stopped')
  await until('its process to end', () => stateOfRuntime() === null)
  expect(await health()).toMatchObject({ status: 'ready', error: null })
  const path = `${sessions}/${session.session_id}`
  expect(await server.send<object>('GET', `${path}?include=activity`)).toMatchObject({
    ...{ status: 'running', error: null, is_busy: false, last_turn_error: null },
  })

  // A new server takes it over as it is.
  await server.kill('SIGKILL')
  await server.boot()
  await until('it to be taken over', () => server.output.includes('goes on with the sandbox of an earlier server'))
  expect(await health()).toMatchObject({ status: 'ready', runtime: 'stopped', error: null })

  await agentRuns('after', 'cat kept.txt')
  const runtime = new URL(session.sandbox_url).pathname
  const [only, ...others] = (await (await server.api(`${runtime}/session`)).json()) as { id: string }[]
  expect(others).toEqual([])
  const messages = JSON.stringify(await (await server.api(`${runtime}/session/${only!.id}/message`)).json())
  expect(messages).toContain('before-done')
  expect(messages).toContain('after-done')
  expect(await server.send<object>('GET', path)).toMatchObject({
    status: 'running',
    error: null,
    last_turn_error: null,
  })
})

test('a stopped session begins its next sandbox with the conversation so far', async () => {
  const path = `${sessions}/${session.session_id}`
  await server.send('POST', `${path}/stop`)
  await until('it to stop', async () => (await server.send<Session>('GET', path)).status === 'stopped')
  await agentRuns('later', 'test ! -e kept.txt')
  session = await server.send<Session>('GET', path)
  const runtime = new URL(session.sandbox_url).pathname
  const [only] = (await (await server.api(`${runtime}/session`)).json()) as { id: string }[]
  const messages = await (await server.api(`${runtime}/session/${only!.id}/message`)).json()
  const told = (messages as { parts: { synthetic?: boolean; text?: string }[] }[])[0]!.parts.find(
    (part) => part.synthetic,
  )
  expect(told?.text).toContain("printf '%s-done\\n' before")
  expect(told?.text).toContain('before-done')
  expect(told?.text).toContain('`svc sessions recover` brings them into the work tree')
})
