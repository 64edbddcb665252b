/** The daemon's start and what goes wrong with it: with git for real, and with a stand-in for the runtime. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { promptIdInPart } from '@svc/contract/daemon/prompt-part'
import { serveHttpBackend } from '@svc/git/testing'
import { $ } from 'bun'

import { createAgentRuntime } from './runtime/agent-runtime.ts'
import { answerGitCredential } from './workspace/git-credential.ts'
import { createSessionEnv } from './runtime/session-env.ts'
import { bootEnvironment, type DaemonUnderTest, freePort, startTestDaemon, testToken, until } from './testing.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(120_000)

const started: DaemonUnderTest[] = []
afterEach(async () => {
  for (const under of started.splice(0)) await under.close()
})

async function start(...args: Parameters<typeof startTestDaemon>): Promise<DaemonUnderTest> {
  const under = await startTestDaemon(...args)
  started.push(under)
  return under
}

const call = (under: DaemonUnderTest, path: string, body: unknown) =>
  fetch(`http://daemon${path}`, {
    unix: under.socket,
    method: 'POST',
    headers: { authorization: `Bearer ${testToken}` },
    body: JSON.stringify(body),
  })

/** Sends a prompt until the runtime takes it, and returns the codes of the refusals before. */
async function sendUntilTaken(under: DaemonUnderTest, body: object): Promise<string[]> {
  const refusals: string[] = []
  await until('the runtime to take the prompt', async () => {
    const reply = await call(under, '/svc/prompt', body)
    if (!reply.ok) refusals.push(((await reply.json()) as { code: string }).code)
    return reply.ok
  })
  return refusals
}

async function origin(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-origin-'))
  await $`git init -q -b main ${folder} && cd ${folder} && git config user.name t && git config user.email t@t.invalid && mkdir -p .svc/runtime/agents && echo main > .svc/runtime/agents/a.md && echo 1 > f && git add -A && git commit -q -m 1 && git checkout -q -b session-1 && echo session > .svc/runtime/agents/a.md && git commit -qam session`
  return folder
}

const cloning = (url: string) => ({ SVC_PROJECT_AUTO_CLONE: '1', SVC_REPO_URL: url, SVC_DEFAULT_BRANCH: 'main' })

describe("booting a session's sandbox", () => {
  test('clones the session branch, keeps the work tree clean, and copies agents and skills of the default branch', async () => {
    const from = await origin()
    const under = await start(cloning(from))
    await under.daemon.booted
    const health = await under.daemon.health()
    expect(health).toMatchObject({ status: 'ready', error: null, branch: 'session-1' })
    const tree = join(under.folder, 'workspace')
    expect(health.commit).toBe((await $`git -C ${from} rev-parse session-1`.text()).trim())
    expect(await $`git -C ${tree} status --porcelain --branch`.text()).toBe('## session-1...origin/session-1\n')
    expect(readFileSync(join(under.folder, 'runtime/config/agents/a.md'), 'utf8')).toBe('main\n')
    for (const step of health.boot) expect(step.ms).not.toBeNull()
    // The runtime would install a package for programs in these folders.
    for (const settings of ['runtime/config', 'home/.config/opencode'])
      expect(readdirSync(join(under.folder, settings))).toEqual(
        expect.arrayContaining(['node_modules', 'package-lock.json']),
      )
  })

  test('copies agents and skills of the default branch although the base branch was deleted', async () => {
    const from = await origin()
    const under = await start({ ...cloning(from), SVC_BASE_REF: 'deleted-with-its-merge' })
    await under.daemon.booted
    expect(await under.daemon.health()).toMatchObject({ status: 'ready', error: null, branch: 'session-1' })
    expect(readFileSync(join(under.folder, 'runtime/config/agents/a.md'), 'utf8')).toBe('main\n')
    const tree = join(under.folder, 'workspace')
    const tracked = await $`git -C ${tree} branch --remotes`.text()
    expect(tracked.trim().split(/\s+/)).toEqual(['origin/main', 'origin/session-1'])
  })

  test('clones although the server is away for a moment', async () => {
    const from = await origin()
    let refusals = 0
    const host = await serveHttpBackend(join(from, '.git'), { before: () => (refusals++ < 3 ? 503 : undefined) })
    const under = await start(cloning(host.url))
    await under.daemon.booted
    expect(await under.daemon.health()).toMatchObject({ status: 'ready', error: null, branch: 'session-1' })
    await host.close()
  })

  test('leaves it to the runtime to install what the tools of a project import', async () => {
    const from = await origin()
    await $`cd ${from} && git checkout -q main && mkdir .svc/runtime/tools && echo 1 > .svc/runtime/tools/t.ts && git add -A && git commit -qm tools && git checkout -q session-1`.quiet()
    const under = await start(cloning(from))
    await under.daemon.booted
    expect(readdirSync(join(under.folder, 'runtime/config')).toSorted()).toEqual(['agents', 'tools'])
  })

  test("fails the boot with git's message when the branch does not exist, and still reports health", async () => {
    const under = await start({ ...cloning(await origin()), SVC_BRANCH_NAME: 'gone' })
    await under.daemon.booted
    const health = await under.daemon.health()
    expect(health.status).toBe('failed')
    expect(health.error).toContain("couldn't find remote ref refs/heads/gone")
  })

  test('reports every problem of an invalid environment on the health route', async () => {
    const under = await start({ SVC_REPO_URL: '', SVC_SANDBOX_GENERATION: 'x' })
    await under.daemon.booted
    const { status, error } = await under.daemon.health()
    expect(status).toBe('failed')
    expect(error).toContain('SVC_REPO_URL is not set.')
    expect(error).toContain('SVC_SANDBOX_GENERATION')
  })

  test('sends the initial prompt once, or only opens the conversation without one', async () => {
    const prompted = await start({ SVC_BOOTSTRAP_RUNTIME_SESSION: '1', SVC_INITIAL_PROMPT: 'begin' })
    await prompted.daemon.booted
    expect((await prompted.seen()).filter((one) => one.url.endsWith('/prompt_async')).length).toBe(1)
    const opened = await start({ SVC_BOOTSTRAP_RUNTIME_SESSION: '1' })
    await opened.daemon.booted
    expect((await opened.daemon.health()).runtime_session_id).toBe('ses_stand_in')
    expect((await opened.seen()).filter((one) => one.url.endsWith('/prompt_async')).length).toBe(0)
  })

  test('refuses an unknown agent before it asks the runtime', async () => {
    const under = await start({ SVC_AGENT_NAME: 'nobody' })
    await under.daemon.booted
    const reply = await call(under, '/svc/prompt', { text: 'x' })
    expect(reply.status).toBe(409)
    expect(await reply.json()).toEqual({
      error: 'There is no agent called "nobody".',
      code: 'agent_not_found',
      hint: 'The default branch has these agents: build',
    })
  })
})

describe('requests while the runtime boots', () => {
  test('answers prompts and proxied requests with 503 and Retry-After while the runtime boots', async () => {
    const under = await start({}, { runtimeCommand: ['sleep', '60'] })
    const reply = await call(under, '/svc/prompt', { text: 'x' })
    expect(reply.status).toBe(503)
    expect(reply.headers.get('retry-after')).toBe('1')
    expect(await reply.json()).toEqual({ error: 'The agent runtime is still starting.', code: 'runtime_booting' })
    expect((await under.daemon.health()).runtime).toBe('starting')
  })
})

describe('supervising the runtime', () => {
  const options = async (command: string[], backoffMs: number[]) => ({
    command,
    cwd: '/tmp',
    env: () => ({ PATH: process.env['PATH'] ?? '' }),
    identity: { uid: null, processesMax: null },
    port: await freePort(),
    log: () => {},
    backoffMs,
  })

  test('retries a runtime that exits at once, then gives up and reports its last lines', async () => {
    const runtime = createAgentRuntime(
      await options(['sh', '-c', 'echo first; echo "no such model" >&2; exit 5'], [1, 1, 1]),
    )
    runtime.start()
    const error = (await runtime.whenReady().catch((thrown: unknown) => thrown)) as Error
    expect(error.message).toContain('exit code 5')
    expect(error.message).toContain('no such model')
    expect(runtime.state).toBe('failed')
  })

  test('does not report a runtime as ready that accepts connections but never answers', async () => {
    const port = await freePort()
    const deaf = `require('net').createServer(()=>{}).listen(${port},'127.0.0.1')`
    const runtime = createAgentRuntime({ ...(await options([process.execPath, '-e', deaf], [])), port })
    runtime.start()
    await until('it to listen', () =>
      fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(500) }).then(
        () => true,
        (error: Error) => error.name === 'TimeoutError',
      ),
    )
    expect(runtime.state).toBe('starting')
    await runtime.stop()
    expect(runtime.state).toBe('stopped')
  })

  test('restarts a runtime that exits later, and prompts work again', async () => {
    const under = await start()
    await under.daemon.booted
    const { runtime_starts: before } = await under.daemon.health()
    await fetch(`http://127.0.0.1:${under.runtimePort}/die`).catch(() => {})
    await until('it to be back', async () => {
      const { runtime, runtime_starts: starts } = await under.daemon.health()
      return starts > before && runtime === 'ready'
    })
    expect((await call(under, '/svc/prompt', { text: 'again' })).status).toBe(200)
  })

  test('holds a prompt that arrives while the runtime exits', async () => {
    const under = await start()
    await under.daemon.booted
    await fetch(`http://127.0.0.1:${under.runtimePort}/die`).catch(() => {})
    const refusals = await sendUntilTaken(under, { text: 'next', prompt_id: 'p1' })
    expect(new Set(refusals)).toEqual(new Set(['runtime_booting']))
  })

  test('sends a prompt again that the runtime accepted without an answer, and the new turn replaces the first', async () => {
    const under = await start()
    await under.daemon.booted
    const promptId = crypto.randomUUID()
    const body = { text: 'die once', note: 'a note', prompt_id: promptId }
    expect(new Set(await sendUntilTaken(under, body))).toEqual(new Set(['runtime_booting']))
    const lines = readFileSync(join(under.folder, 'workspace/taken.jsonl'), 'utf8').trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toBe(lines[1])
    const prompt = JSON.parse(lines[0]!) as { messageID: string; parts: { id: string }[] }
    expect(prompt.messageID).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/)
    const [text, note] = prompt.parts as [{ id: string }, { id: string }]
    expect(promptIdInPart(text.id)).toBe(promptId)
    expect(note.id).toMatch(/^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/)
    // The runtime orders the parts of a message by their ids.
    expect(note.id > text.id).toBeTrue()
    expect((await call(under, '/svc/prompt', { ...body, prompt_id: 'p3' })).status).toBe(200)
    const [, , third] = readFileSync(join(under.folder, 'workspace/taken.jsonl'), 'utf8').split('\n')
    const other = JSON.parse(third!) as { messageID: string }
    // The runtime orders messages by their ids.
    expect(other.messageID > prompt.messageID).toBeTrue()
  })
})

describe('refreshing a session', () => {
  test('pulls the branch, restarts the runtime, and refuses a branch that is no fast-forward', async () => {
    const from = await origin()
    const under = await start(cloning(from))
    await under.daemon.booted
    const before = (await under.daemon.health()).commit
    await $`cd ${from} && echo 2 > f && git commit -qam 2 && git checkout -q main && echo later > .svc/runtime/agents/a.md && git commit -qam later && git checkout -q session-1`.quiet()
    const reply = await call(under, '/svc/refresh', {})
    const after = (await $`git -C ${from} rev-parse session-1`.text()).trim()
    expect(await reply.json()).toEqual({ ok: true, before, after })
    expect((await under.daemon.health()).commit).toBe(after)
    expect(readFileSync(join(under.folder, 'runtime/config/agents/a.md'), 'utf8')).toBe('later\n')

    await $`cd ${from} && git commit -q --amend -m other && git -C ${under.folder}/workspace commit -q --allow-empty -m mine`
      .env({
        ...process.env,
        GIT_AUTHOR_NAME: 't',
        GIT_AUTHOR_EMAIL: 't@t',
        GIT_COMMITTER_NAME: 't',
        GIT_COMMITTER_EMAIL: 't@t',
      })
      .quiet()
    const refused = await call(under, '/svc/refresh', {})
    expect(refused.status).toBe(409)
    expect(await refused.json()).toMatchObject({ code: 'not_fast_forward' })
  })

  test('keeps a work tree that cannot be pulled, and still applies the configuration', async () => {
    const from = await origin()
    const under = await start(cloning(from))
    await under.daemon.booted
    const work = join(under.folder, 'workspace')
    await $`cd ${from} && echo theirs > f && git commit -qam theirs && git checkout -q main && mkdir -p tools/agents && echo moved > tools/agents/b.md && git add -A && git commit -qm moved && git checkout -q session-1`.quiet()
    writeFileSync(join(work, 'f'), 'not committed\n')
    const before = (await under.daemon.health()).commit
    const starts = (await under.daemon.health()).runtime_starts
    const dirty = await call(under, '/svc/refresh', { config_dir: 'tools' })
    expect(dirty.status).toBe(409)
    expect(((await dirty.json()) as { error: string }).error).toContain('would be overwritten')
    expect(readFileSync(join(work, 'f'), 'utf8')).toBe('not committed\n')
    expect(readFileSync(join(under.folder, 'runtime/config/agents/b.md'), 'utf8')).toBe('moved\n')
    expect(await under.daemon.health()).toMatchObject({ commit: before, runtime: 'ready', runtime_starts: starts + 1 })
    const env = (await (await fetch(`http://127.0.0.1:${under.runtimePort}/env`)).json()) as Record<string, string>
    expect(env).toMatchObject({ SVC_CONFIG_DIR: 'tools', RUNTIME_CONFIG_DIR: join(work, 'tools') })

    // Another branch of the agent's own is not moved, even where it could be.
    await $`git -C ${work} checkout -q -- f && git -C ${work} checkout -q -b mine`.quiet()
    const elsewhere = await call(under, '/svc/refresh', {})
    expect(((await elsewhere.json()) as { error: string }).error).toContain(
      'the work tree has the branch mine checked out',
    )
    expect((await $`git -C ${work} rev-parse mine`.text()).trim()).toBe(before!)
    expect((await call(under, '/svc/refresh', { config_dir: '../elsewhere' })).status).toBe(400)
  })
})

describe('changed secrets', () => {
  test('passes changed secrets to every new bash and to the next runtime, and replies with names only', async () => {
    const under = await start({ OLD: 'old', KEPT: 'kept' })
    await under.daemon.booted
    const value = `it's "quoted" $HOME \\ \n two`
    const reply = await call(under, '/svc/env', {
      ...{ revision: '2', env: { KEPT: 'kept', NEW: value }, names: ['HELD_BACK', 'KEPT', 'NEW'] },
    })
    expect(await reply.json()).toEqual({ ok: true, changed: ['NEW', 'OLD'] })
    const atLaunch = { OLD: 'old', SVC_PROJECT_SECRET_NAMES: 'KEPT,OLD', SVC_PROJECT_SECRETS_REVISION: '1' }
    const env = { BASH_ENV: join(under.folder, 'session.env'), PATH: '/usr/bin:/bin', ...atLaunch }
    expect(await $`bash -c ${'printf %s "$NEW-$KEPT-${OLD-unset}"'}`.env(env).text()).toBe(`${value}-kept-unset`)
    const about = 'echo "$SVC_PROJECT_SECRET_NAMES $SVC_PROJECT_SECRETS_REVISION"'
    expect(await $`bash -c ${about}`.env(env).text()).toBe('HELD_BACK,KEPT,NEW 2\n')
  })

  test.each([
    { SVC_TOKEN: 'x' },
    { LD_PRELOAD: 'x' },
    { 'A;touch /tmp/x;B': 'x' },
    { A: 'x\0' },
    { A: 5 },
    { A: 'x'.repeat(70_000) },
  ])('refuses the environment %j and changes nothing', (env) => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-env-')), 'session.env')
    const sessionEnv = createSessionEnv({ file, atStart: { KEPT: '1' }, revision: '1' })
    expect(() => sessionEnv.replace('2', env as unknown as Record<string, string>)).toThrow()
    expect(sessionEnv.secrets).toEqual({ KEPT: '1' })
    expect(readFileSync(file, 'utf8')).toBe("export KEPT='1'\n")
  })
})

describe('the git credential helper', () => {
  const env = bootEnvironment()
  const ask = (request: string, operation = 'get', changed: Record<string, string> = {}) =>
    answerGitCredential({ operation, request, env: { ...env, ...changed } })

  test("returns the current credential for the session's remote", async () => {
    const service = Bun.serve({
      port: 0,
      fetch: (req) =>
        req.headers.get('authorization') === `Bearer ${testToken}` &&
        new URL(req.url).pathname === '/v1/projects/p/git/clone-credential'
          ? Response.json({ auth: { username: 'x-access-token', token: 'short-lived' } })
          : Response.json({ error: 'The sandbox was stopped.' }, { status: 401 }),
    })
    const api = `http://127.0.0.1:${service.port}/v1`
    const remote = { SVC_API_URL: api, SVC_REPO_URL: `${api}/projects/p/git` }
    const request = `protocol=http\nhost=127.0.0.1:${service.port}\npath=v1/projects/p/git\n\n`
    expect(await ask(request, 'get', remote)).toBe('username=x-access-token\npassword=short-lived\n')
    expect(await ask(request, 'store', remote)).toBe('')
    await expect(ask(request, 'get', { ...remote, SVC_TOKEN: 'old' })).rejects.toThrow('The sandbox was stopped.')
    await service.stop(true)
  })

  test.each([
    'protocol=https\nhost=127.0.0.1:1\npath=v1/projects/p/git\n',
    'protocol=http\nhost=evil.test\npath=v1/projects/p/git\n',
    'protocol=http\nhost=127.0.0.1:1\npath=v1/projects/other/git\n',
    'protocol=http\nhost=127.0.0.1:1.evil.test\n',
    'protocol=http\nhost=\n',
    '',
  ])('returns nothing for another remote: %j', async (request) => {
    expect(await ask(request)).toBe('')
  })

  test.each(['a\nb', 'a\rb', '', 5, null])(
    "refuses a credential with %j, which would break git's protocol",
    async (value) => {
      const service = Bun.serve({ port: 0, fetch: () => Response.json({ auth: { username: 'u', token: value } }) })
      const api = `http://127.0.0.1:${service.port}/v1`
      const remote = { SVC_API_URL: api, SVC_REPO_URL: `${api}/projects/p/git` }
      await expect(ask(`protocol=http\nhost=127.0.0.1:${service.port}\n`, 'get', remote)).rejects.toThrow(
        'git cannot use',
      )
      await service.stop(true)
    },
  )
})

describe('the setup command of svc.toml', () => {
  test('runs the setup command in the work tree before the runtime starts, and does not wait for its background processes', async () => {
    const under = await start({ SVC_SANDBOX_SETUP: 'echo "$0 in $PWD" > made-by-setup; sleep 60 & echo done' })
    await under.daemon.booted
    const { status, boot } = await under.daemon.health()
    expect(status).toBe('ready')
    const steps = boot.map((entry) => entry.step)
    expect(steps.indexOf('setup')).toBeLessThan(steps.indexOf('runtime'))
    expect(readFileSync(join(under.folder, 'workspace', 'made-by-setup'), 'utf8')).toContain('/workspace')
    expect(readFileSync(join(under.folder, 'runtime', 'setup.log'), 'utf8')).toBe('done\n')
  })

  test('fails the boot with the last lines of a failed setup command', async () => {
    const under = await start({ SVC_SANDBOX_SETUP: 'echo one; echo no such package >&2; exit 3' })
    await under.daemon.booted
    const { status, error, runtime, boot } = await under.daemon.health()
    expect(boot.filter(({ failed }) => failed).map(({ step }) => step)).toEqual(['setup'])
    expect({ status, error, runtime }).toEqual({
      status: 'failed',
      runtime: 'stopped',
      error:
        'The setup command of svc.toml ([sandbox] setup) failed with exit code 3. Its last lines: one / no such package',
    })
  })
})
