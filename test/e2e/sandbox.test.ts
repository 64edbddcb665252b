/** A session as its sandbox lives it: boot, prompt, tool, commit, push. Real bubblewrap, real git, the real agent runtime. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import type { DaemonHealth } from '@svc/contract/daemon'
import * as contract from '@svc/contract/daemon'
import { createLocalDriver, type Sandbox, type SandboxDriver } from '@svc/sandbox'
import { $ } from 'bun'

import * as layout from '../../packages/sandbox/src/layout.ts'
import { buildDaemonProgram, type Relay, runtimeProgram, startRelayServer, until } from './sandbox-relay.ts'

setDefaultTimeout(60_000)

const agentFile = '---\ndescription: helps\nmode: primary\n---\nYou are the house agent.\n'
let relay: Relay
let driver: SandboxDriver
let sandbox: Sandbox

const limits = { memoryBytesMax: 2 * 1024 ** 3, cpuMax: 2, processesMax: 512, diskBytesMax: 512 * 1024 ** 2 }
const bearer = { authorization: 'Bearer svc_sbx_test', 'content-type': 'application/json' }

const call = (path: string, init: RequestInit = {}) =>
  fetch(`http://daemon${path}`, { ...init, unix: sandbox.daemonSocket })
const post = (path: string, body: unknown) =>
  call(path, { method: 'POST', headers: bearer, body: JSON.stringify(body) })
const health = async () => (await (await call('/svc/health')).json()) as DaemonHealth

/** As the server does it: a signed context for exactly this request. */
async function signed(path: string, method = 'GET'): Promise<Record<string, string>> {
  const now = Math.floor(Date.now() / 1000)
  const key = await contract.userContextKey('svc_sbx_test')
  const context = {
    ...{ user_id: 'u', session_id: 'session-1', generation: 3, role: 'owner', method, path },
    ...{ iat: now, exp: now + 60, jti: crypto.randomUUID() },
  }
  return { [contract.userContextHeader]: await contract.signUserContext(key, context) }
}

async function untilIdle(
  runtimeSessionId: string,
): Promise<{ info: { role: string }; parts: Record<string, unknown>[] }[]> {
  const path = `/session/${runtimeSessionId}/message`
  return until('the turn to end', async () => {
    const messages = (await (await call(path, { headers: await signed(path) })).json()) as {
      info: { role: string; time: { completed?: number }; finish?: string }
      parts: Record<string, unknown>[]
    }[]
    const last = messages.at(-1)
    return last?.info.role === 'assistant' && last.info.time.completed !== undefined && last.info.finish === 'stop'
      ? messages
      : null
  })
}

beforeAll(async () => {
  relay = await startRelayServer({ '.svc/runtime/agents/house.md': agentFile, 'src/a.txt': 'one\n' })
  driver = createLocalDriver({
    stateDir: `${relay.folder}/state`,
    svcBinary: await buildDaemonProgram(relay.folder),
    runtimeBinary: runtimeProgram()!,
    log: () => {},
  })
  const probed = await driver.probe()
  if (probed.kind === 'missing') throw new Error(`${probed.problem} ${probed.install ?? ''}`)
  const env = relay.bootEnvironment({ SVC_AGENT_NAME: 'house', MY_SECRET: 'from the start' })
  sandbox = await driver.create(
    { sandboxId: 'story', env, limits, relaySocket: relay.socket },
    AbortSignal.timeout(30_000),
  )
})

afterAll(async () => {
  await driver?.stop('story')
  await relay?.close()
})

test('the layout a driver knows is the one the contract names', () => {
  expect(layout.runDir).toBe(contract.runDir)
  expect(`${layout.runDir}/${layout.daemonSocketName}`).toBe(contract.daemonSocketPath)
  expect(`${layout.runDir}/${layout.relaySocketName}`).toBe(contract.relaySocketPath)
  expect(layout.workspaceDir).toBe(contract.workspaceDir)
  expect(layout.runtimeHome).toBe(contract.runtimeHome)
  expect(layout.agentUid).toBe(contract.agentUid)
})

test('it boots: the branch is cloned, the tree is clean, the runtime answers', async () => {
  const booted = await until('the boot to end', async () => {
    const now = await health()
    return now.status === 'booting' ? null : now
  })
  expect(booted.error).toBeNull()
  expect(booted).toMatchObject({ status: 'ready', runtime: 'ready', branch: 'session-1', generation: 3 })
  const tip = (await $`git -C ${relay.origin} rev-parse session-1`.text()).trim()
  expect(booted.commit).toBe(tip)
  console.log('boot', JSON.stringify(booted.boot))
})

test('prompt → runtime → tool → commit → push arrives', async () => {
  relay.script.push(
    {
      text: 'I will change the file.',
      bash: 'cd /workspace && git status --porcelain && echo two >> src/a.txt && git commit -qam "Add two" && git push -q origin HEAD && git log -1 --format="%an <%ae>" && id -u && echo "$MY_SECRET"',
    },
    { text: 'Pushed.' },
  )
  const reply = (await (await post('/svc/prompt', { text: 'Add two.', prompt_id: 'p1' })).json()) as {
    runtime_session_id: string
  }
  expect(reply).toMatchObject({ ok: true })
  const messages = await untilIdle(reply.runtime_session_id)
  const tool = messages.flatMap((message) => message.parts).find((part) => part['type'] === 'tool')!
  expect((tool['state'] as { output: string }).output.trim()).toBe(
    'svc agent <agent@svc.invalid>\n1000\nfrom the start',
  )
  expect(await $`git -C ${relay.origin} show session-1:src/a.txt`.text()).toBe('one\ntwo\n')
  expect(JSON.stringify(relay.asked[0]?.messages[0])).toContain('You are the house agent.')
  expect((await health()).commit).toBe((await $`git -C ${relay.origin} rev-parse session-1`.text()).trim())
})
