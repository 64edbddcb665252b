/** A session as its sandbox lives it: boot, prompt, tool, commit, push. Real bubblewrap, real git, the real agent runtime. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import type { DaemonHealth, PromptReply } from '@svc/contract/daemon/control'
import { promptIdInPart } from '@svc/contract/daemon/prompt-part'
import { attachmentsDir } from '@svc/contract/schemas/attachments'
import * as contract from '@svc/contract/daemon/control'
import { createLocalDriver, type Sandbox, type SandboxDriver } from '@svc/sandbox'
import { $ } from 'bun'

import { escapeProbes, probeScript } from '../../packages/sandbox/src/conformance/escape-probes.ts'
import * as layout from '../../packages/sandbox/src/layout.ts'
import { type CanaryHosts, startCanaryHosts } from './canary-hosts.ts'
import { until } from './harness.ts'
import { buildDaemonProgram, type Relay, runtimeProgram, startRelayServer } from './sandbox-relay.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(300_000)

const newAgent = '---\ndescription: came later\nmode: primary\n---\nYou are late.\n'
const agentFile = '---\ndescription: helps\nmode: primary\n---\nYou are the house agent.\n'
let relay: Relay
let driver: SandboxDriver
let sandbox: Sandbox
let hosts: CanaryHosts

const limits = { memoryBytesMax: 1536 * 1024 ** 2, cpuMax: 2, processesMax: 400, diskBytesMax: 256 * 1024 ** 2 }
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
    bootMs: 120_000,
  })
  const probed = await driver.probe()
  if (probed.kind === 'missing') throw new Error(`${probed.problem} ${probed.install ?? ''}`)
  const env = relay.bootEnvironment({ SVC_AGENT_NAME: 'house', MY_SECRET: 'from the start' })
  hosts = await startCanaryHosts(`${relay.folder}/hosts`, relay.origin)
  const egress = ['port', 'tlsPort'] as const
  const egressSocket = await hosts.gate.open(
    'story',
    egress.map((name) => `*.canary.test:${hosts[name]}`),
    {},
  )
  sandbox = await driver.create(
    { sandboxId: 'story', env, limits, relaySocket: relay.socket, egressSocket },
    AbortSignal.timeout(120_000),
  )
})

afterAll(async () => {
  await driver?.stop('story')
  await hosts?.gate.close('story')
  await hosts?.close()
  await relay?.close()
})

test('the paths of the drivers are those of the contract', () => {
  expect(layout.runDir).toBe(contract.runDir)
  expect(`${layout.runDir}/${layout.daemonSocketName}`).toBe(contract.daemonSocketPath)
  expect(`${layout.runDir}/${layout.relayFolderName}/relay.sock`).toBe(contract.relaySocketPath)
  expect(`${layout.runDir}/${layout.egressFolderName}/egress.sock`).toBe(contract.egressSocketPath)
  expect(layout.workspaceDir).toBe(contract.workspaceDir)
  expect(layout.runtimeHome).toBe(contract.runtimeHome)
  expect(layout.attachmentsDir).toBe(attachmentsDir)
  expect(layout.agentUid).toBe(contract.agentUid)
  expect(layout.linkPort).toBe(contract.linkPort)
})

test('a sandbox boots with the branch cloned, a clean work tree, and a runtime that answers', async () => {
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

test('a prompt leads to a tool call, a commit and a push', async () => {
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

/** One turn in which the agent runs this; what the tool printed. */
async function agentRuns(command: string): Promise<string> {
  relay.script.push({ bash: command }, { text: 'Ran it.' })
  // The turn before this one has ended as well, so wait for the answer to this one.
  const turns = relay.asked.length + 2
  const reply = (await (await post('/svc/prompt', { text: 'Run it.' })).json()) as { runtime_session_id: string }
  await until('the model to be asked twice', () => relay.asked.length >= turns, 240_000)
  const messages = await untilIdle(reply.runtime_session_id)
  const tools = messages.flatMap((message) => message.parts).filter((part) => part['type'] === 'tool')
  return (tools.at(-1)!['state'] as { output: string }).output.trim()
}

test('curl, git, npm and pip reach the hosts that are allowed, and only those', async () => {
  const at = (name: string) => `http://${name}.canary.test:${hosts.port}`
  const commands = [
    `curl -fsS ${at('web')}/page && echo`,
    `curl -fsSk https://tls.canary.test:${hosts.tlsPort}/page && echo`,
    `git clone -q ${at('git')}/repo.git /tmp/cloned && ls /tmp/cloned/README.md`,
    `cd /tmp && mkdir n && cd n && npm install --no-audit --no-fund --registry ${at('npm')} demo >/dev/null && ls node_modules/demo/package.json`,
    `cd /tmp && pip3 download -q --no-deps --index-url ${at('pip')}/simple --trusted-host pip.canary.test demo && ls demo-*.whl`,
    // Hosts that are not on the list, private hosts, and requests that bypass the proxy.
    'curl -s http://elsewhere.example.com/',
    'curl -s -o /dev/null -w "%{http_connect}\n" https://169.254.169.254/',
    `curl -s --noproxy "*" --max-time 5 http://127.0.0.1:${hosts.port}/page || echo no way around`,
  ]
  expect((await agentRuns(commands.map((command) => `( ${command} ) 2>&1`).join('; '))).split('\n')).toEqual([
    'the page',
    'the page',
    '/tmp/cloned/README.md',
    'node_modules/demo/package.json',
    'demo-1.0.0-py3-none-any.whl',
    `svc: elsewhere.example.com:80 is blocked by the project's egress list. Add "elsewhere.example.com" to egress under [sandbox] in svc.toml with a change request; after its merge, sandboxes can reach it within seconds.`,
    '403',
    'no way around',
  ])
  expect(hosts.asked).toContain('npm.canary.test/demo')
})

test('the agent can read but not run an attached file, and no commit contains it', async () => {
  const id = crypto.randomUUID()
  const path = `${attachmentsDir}/${id}/plan.sh`
  const content = '#!/bin/sh\necho ran\n'
  const attachment = { attachment_id: id, file_name: 'plan.sh', content_base64: btoa(content) }
  expect(await (await post('/svc/attachment', attachment)).json()).toEqual({ ok: true })
  const commands = [
    `stat -c '%a %u' ${path}`,
    `cat ${path}`,
    path,
    // The agent may change the file, but a replacement in its place has no effect.
    `rm -f ${path}`,
    `ln -s /etc/passwd ${attachmentsDir}/${id}/link`,
    'git -C /workspace add -A && git -C /workspace status --porcelain',
  ]
  expect((await agentRuns(commands.map((command) => `( ${command} ) 2>&1`).join('; '))).split('\n')).toEqual([
    '644 1000',
    ...content.trimEnd().split('\n'),
    expect.stringContaining('Permission denied'),
    expect.stringContaining('Permission denied'),
    expect.stringContaining('Permission denied'),
  ])
  // Delivered again, as after a server that died in between.
  expect((await post('/svc/attachment', { ...attachment, content_base64: btoa('again\n') })).status).toBe(200)
  relay.script.push({ bash: `cat ${path}` }, { text: 'Read it.' })
  const turns = relay.asked.length + 2
  const note = `The files:\n- ${path}`
  const reply = (await (await post('/svc/prompt', { text: 'Read the plan.', note })).json()) as {
    runtime_session_id: string
  }
  await until('the model to be asked twice', () => relay.asked.length >= turns, 240_000)
  const messages = await untilIdle(reply.runtime_session_id)
  expect(JSON.stringify(relay.asked.at(-1)?.messages)).toContain(JSON.stringify(note).slice(1, -1))
  const asked = messages.findLast(({ parts }) => parts.some(({ text }) => text === 'Read the plan.'))!
  expect(asked.parts).toMatchObject([{ text: 'Read the plan.' }, { text: note, synthetic: true }])
  const tools = messages.flatMap(({ parts }) => parts).filter(({ type }) => type === 'tool')
  expect((tools.at(-1)!['state'] as { output: string }).output.trim()).toBe('again')
  const wrong = [{ ...attachment, file_name: '../plan.sh' }, { ...attachment, attachment_id: '../../etc' }, {}]
  for (const body of wrong) expect((await post('/svc/attachment', body)).status).toBe(400)
})

test('a prompt delivered twice under one id runs once', async () => {
  const before = relay.asked.length
  const body = { text: 'Once.', prompt_id: crypto.randomUUID() }
  const [first, second] = await Promise.all([post('/svc/prompt', body), post('/svc/prompt', body)])
  const replies = (await Promise.all([first.json(), second.json()])) as PromptReply[]
  expect(replies[0]!.runtime_session_id).toBe(replies[1]!.runtime_session_id)
  expect(replies.map(({ was_taken }) => was_taken).toSorted()).toEqual([false, true])
  await until('the model to be asked', () => relay.asked.length > before)
  const messages = await untilIdle(replies[0]!.runtime_session_id)
  const said = messages.filter((message) => message.parts.some((part) => part['text'] === 'Once.'))
  expect(said.length).toBe(1)
  // The runtime keeps the id of the part, which names the prompt.
  const part = said[0]!.parts.find(({ text }) => text === 'Once.')!
  expect(promptIdInPart(String(part['id']))).toBe(body.prompt_id)
})

test('changed secrets reach the next command', async () => {
  const reply = await post('/svc/env', {
    ...{
      revision: '2',
      env: { MY_SECRET: 'changed', NEW_SECRET: 'new' },
      names: ['HELD_BACK', 'MY_SECRET', 'NEW_SECRET'],
    },
  })
  expect(await reply.json()).toEqual({ ok: true, changed: ['MY_SECRET', 'NEW_SECRET'] })
  expect(await agentRuns('echo "$MY_SECRET $NEW_SECRET"')).toBe('changed new')
  const about = 'echo "$SVC_PROJECT_SECRET_NAMES $SVC_PROJECT_SECRETS_REVISION"'
  expect(await agentRuns(about)).toBe('HELD_BACK,MY_SECRET,NEW_SECRET 2')
  await post('/svc/env', { revision: '3', env: { MY_SECRET: 'changed' }, names: ['MY_SECRET'] })
  expect(await agentRuns(`${about}; echo "\${NEW_SECRET-gone}"`)).toBe('MY_SECRET 3\ngone')
})

test('the agent cannot see what the daemon knows, and git gets its credential only on request', async () => {
  const asked = relay.requests.filter((line) => line.endsWith('clone-credential')).length
  expect(
    await agentRuns(
      'cat /proc/1/environ 2>&1; ls /workspace/.git/*credential* 2>&1; cat ~/.git-credentials 2>&1; git fetch origin && echo fetched',
    ),
  ).toEndWith('fetched')
  expect(relay.requests.filter((line) => line.endsWith('clone-credential')).length).toBeGreaterThan(asked)
})

test('a program that the agent leaves running is reached through the proxy, and no zombie remains', async () => {
  const server = `perl -MIO::Socket::INET -e '$s=IO::Socket::INET->new(Listen=>5,LocalAddr=>"127.0.0.1",LocalPort=>3000,ReuseAddr=>1) or die;while($c=$s->accept){<$c>;print $c "HTTP/1.0 200 OK\\r\\nX-Svc-Evil: 1\\r\\n\\r\\nfrom the app";close $c}'`
  // Orphans on purpose: whoever started them has gone when they end.
  await agentRuns(
    `setsid nohup ${server} >/dev/null 2>&1 </dev/null & for i in 1 2 3 4 5; do (setsid sleep 0.2 >/dev/null 2>&1 &); done; echo started`,
  )
  const seen = await until('the program to answer', async () => {
    const reply = await call('/proxy/3000/', { headers: await signed('/proxy/3000/') })
    return reply.status === 200 ? reply : null
  })
  expect(seen.headers.get('x-svc-evil')).toBeNull()
  expect(await seen.text()).toBe('from the app')
  const zombies =
    'for i in $(seq 40); do grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | grep -q . || break; sleep 0.1; done; grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l'
  expect(await agentRuns(zombies)).toBe('0')
})

test('refresh pulls an outside commit into the work tree and restarts the runtime', async () => {
  const clone = `${relay.folder}/outside`
  const who = ['-c', 'user.name=o', '-c', 'user.email=o@o.invalid']
  await $`git clone -q -b session-1 ${relay.origin} ${clone} && cd ${clone} && echo three >> src/a.txt && git ${who} commit -qam outside && git push -q origin session-1`
  const tip = (await $`git -C ${clone} rev-parse HEAD`.text()).trim()
  // Work that is not committed stays, and so do other agents of the default branch come.
  await agentRuns('echo draft > /workspace/draft.txt')
  await $`cd ${clone} && git fetch -q origin main && git checkout -q FETCH_HEAD && printf ${newAgent} > .svc/runtime/agents/late.md && git add -A && git ${who} commit -qm late && git push -q origin HEAD:main`
  expect(await (await post('/svc/refresh', {})).json()).toMatchObject({ ok: true, after: tip })
  const agents = (await (await call('/agent', { headers: await signed('/agent') })).json()) as { name: string }[]
  expect(agents.map(({ name }) => name)).toContain('late')
  expect(await agentRuns('cat /workspace/draft.txt && rm /workspace/draft.txt')).toBe('draft')
  expect(await health()).toMatchObject({ runtime: 'ready', commit: tip })
  // The conversation is the same one, and goes on.
  expect(await agentRuns('tail -1 /workspace/src/a.txt; git -C /workspace status --porcelain | wc -l')).toBe('three\n0')
})

test('abort ends a running turn', async () => {
  relay.script.push({ bash: 'sleep 300' })
  const before = relay.asked.length
  const reply = (await (await post('/svc/prompt', { text: 'Wait.' })).json()) as { runtime_session_id: string }
  const status = async () => {
    const answer = await call('/session/status', { headers: await signed('/session/status') })
    return JSON.stringify(await answer.json())
  }
  // Busy begins before the model is asked; aborted then, the script would wait for the next prompt.
  await until('it to be busy', async () => relay.asked.length > before && (await status()).includes('busy'))
  expect(await (await post('/svc/abort', {})).json()).toEqual({ ok: true })
  await until('it to be idle', async () => !(await status()).includes(reply.runtime_session_id))
})

test(`the agent's own tool fails at ${escapeProbes.length} ways out`, async () => {
  const targets = {
    ...{
      CANARY_PORT: '1',
      CANARY_ABSTRACT: 'nobody',
      HOST_FILE: `${relay.folder}/main.ts`,
      OTHER_FOLDER: `${relay.folder}/state/run`,
    },
    ...{ STATE_FOLDER: `${relay.folder}/state`, HOST_PID: String(process.pid), PROCESSES: String(limits.processesMax) },
    ...{ DISK_BYTES: '1', MEMORY_BYTES: '1' },
  }
  expect(await agentRuns(probeScript(targets, escapeProbes))).toBe(`PROBES RUN: ${escapeProbes.length}`)
  expect((await health()).daemon).toBe('ok')
})

test('the sandbox ends when its daemon dies, and the reason says so', async () => {
  const ended = Promise.withResolvers<string>()
  driver.onExit((exit) => ended.resolve(exit.reason))
  const children = (await $`ps -o pid=,args= --ppid ${sandbox.externalId}`.text()).split('\n')
  const daemon = children.find((line) => / svc-agent( |$)/.test(line))!
  process.kill(Number.parseInt(daemon, 10), 'SIGKILL')
  expect(await ended.promise).toContain('svc-entrypoint: svc-agent ended with signal SIGKILL')
  expect(await driver.find('story')).toBeNull()
})

test('a sandbox runs its initial prompt without another request', async () => {
  const before = relay.asked.length
  relay.script.length = 0
  const env = relay.bootEnvironment({ SVC_BOOTSTRAP_RUNTIME_SESSION: '1', SVC_INITIAL_PROMPT: 'Begin.' })
  sandbox = await driver.create(
    { sandboxId: 'story', env, limits, relaySocket: relay.socket },
    AbortSignal.timeout(120_000),
  )
  await until('the model to be asked', () => relay.asked.length > before)
  expect(JSON.stringify(relay.asked.at(-1)?.messages.at(-1))).toContain('Begin.')
  expect((await health()).runtime_session_id).toStartWith('ses_')
})
