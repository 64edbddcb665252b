/** The driver on this machine: real bubblewrap, real limits, real kills. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { driverConformance } from '../conformance.ts'
import type { Sandbox, SandboxDriver, SandboxError, SandboxSpec } from '../driver.ts'
import { escapeProbes, exhaustionProbes, probeScript } from '../escape-probes.ts'
import { createLocalDriver } from './driver.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(180_000)

const allProbes = [...escapeProbes, ...exhaustionProbes]

const never = new AbortController().signal
const limits = { memoryBytesMax: 256 * 1024 ** 2, cpuMax: 2, processesMax: 128, diskBytesMax: 64 * 1024 ** 2 }
let folder: string
let program: string
let relaySocket: string
let relay: Server

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-drv-'))
  program = join(folder, 'svc')
  const built = Bun.spawn([
    process.execPath,
    'build',
    '--compile',
    resolve(import.meta.dir, 'stub-daemon.ts'),
    '--outfile',
    program,
  ])
  expect(await built.exited).toBe(0)
  relaySocket = join(folder, 'relay.sock')
  relay = createServer((socket) => socket.end())
  await new Promise<void>((listening) => relay.listen(relaySocket, listening))
})
afterAll(async () => {
  relay.close()
  await rm(folder, { recursive: true, force: true })
})

const makeDriver = (name: string): SandboxDriver =>
  createLocalDriver({
    stateDir: join(folder, name),
    svcBinary: program,
    runtimeBinary: program,
    log: () => {},
    bootMs: 90_000,
  })

const specOf = (sandboxId: string, env: Record<string, string> = {}): SandboxSpec => ({
  sandboxId,
  env,
  limits,
  relaySocket,
})

async function run(sandbox: Sandbox, command: string[], as: 'agent' | 'daemon' = 'agent') {
  const reply = await fetch('http://daemon/run', {
    unix: sandbox.daemonSocket,
    method: 'POST',
    body: JSON.stringify({ command, as }),
    signal: AbortSignal.timeout(170_000),
  })
  return (await reply.json()) as { code: number; stdout: string; stderr: string }
}

async function until(what: string, look: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`Waited ${ms} ms in vain: ${what}`)
    await Bun.sleep(5)
  }
}

/** Processes of this machine whose command line holds the text. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        return false
      }
    })
}

driverConformance('local', async () => {
  const driver = makeDriver('conformance')
  return {
    driver,
    relaySocket,
    env: {},
    async endItself(sandboxId) {
      const sandbox = await driver.find(sandboxId)
      await fetch('http://daemon/exit?code=7', { unix: sandbox!.daemonSocket })
    },
    close: async () => {
      for (const sandbox of await driver.list()) await driver.stop(sandbox.sandboxId)
      expect(readdirSync(join(folder, 'conformance', 'run'))).toEqual([])
    },
  }
})

describe('a sandbox', () => {
  let driver: SandboxDriver
  let sandbox: Sandbox
  beforeAll(async () => {
    driver = makeDriver('walls')
    const env = {
      MY_SECRET: 'it\'s a\n"secret"',
      LD_PRELOAD: '/workspace/evil.so',
      BUN_OPTIONS: '--preload x',
      BUN_BE_BUN: '1',
    }
    sandbox = await driver.create(specOf('walls', env), never)
  })
  afterAll(async () => {
    await driver.stop('walls')
    await driver.stop('other')
  })

  test('gets its environment, without the names that change how programs start, and not by argv', async () => {
    const env = (await (await fetch('http://daemon/env', { unix: sandbox.daemonSocket })).json()) as Record<
      string,
      string
    >
    expect(env['MY_SECRET']).toBe('it\'s a\n"secret"')
    expect(env['SVC_WORKSPACE']).toBe('/workspace')
    expect(Object.keys(env).filter((name) => /^(LD_|BUN_)/.test(name))).toEqual([])
    expect(processesWith('"secret"')).toEqual([])
  })

  test('runs the agent as 1000 and the daemon as 0 of a uid range of its own', async () => {
    expect((await run(sandbox, ['id', '-u'])).stdout).toBe('1000\n')
    expect((await run(sandbox, ['id', '-u'], 'daemon')).stdout).toBe('0\n')
    expect((await run(sandbox, ['cat', '/proc/self/uid_map'])).stdout).toMatch(/^\s*0\s+1\d{9}\s+65536\s*$/)
  })

  test('has the programs an agent needs', async () => {
    const commands = 'git --version && rg --version && bash -c true && ls /etc/ssl/certs | head -1'
    const done = await run(sandbox, ['bash', '-c', commands])
    expect(done.stderr).toBe('')
    expect(done.code).toBe(0)
  })

  test(`withstands ${allProbes.length} attempts to leave it`, async () => {
    expect(escapeProbes.length).toBeGreaterThanOrEqual(60)
    const canary = createServer((socket) => void socket.end('canary touched'))
    const touched: string[] = []
    canary.on('connection', () => touched.push('tcp'))
    await new Promise<void>((listening) => canary.listen(0, '127.0.0.1', listening))
    const abstract = createServer(() => touched.push('abstract'))
    await new Promise<void>((listening) => abstract.listen(`\0svc-canary-${process.pid}`, listening))
    const hostFile = join(folder, 'host-secret')
    await writeFile(hostFile, 'host secret', { mode: 0o644 })
    const other = await driver.create(specOf('other'), never)

    const script = probeScript(
      {
        CANARY_PORT: String((canary.address() as { port: number }).port),
        CANARY_ABSTRACT: `svc-canary-${process.pid}`,
        HOST_FILE: hostFile,
        OTHER_FOLDER: join(other.daemonSocket, '..'),
        STATE_FOLDER: join(folder, 'walls'),
        HOST_PID: String(process.pid),
        DISK_BYTES: String(limits.diskBytesMax + 1),
        MEMORY_BYTES: String(limits.memoryBytesMax + limits.diskBytesMax),
        PROCESSES: String(limits.processesMax),
      },
      allProbes,
    )
    const done = await run(sandbox, ['bash', '-c', script])
    expect(done.stdout.trim().split('\n')).toEqual([`PROBES RUN: ${allProbes.length}`])
    expect(touched).toEqual([])
    for (const one of [sandbox, other]) {
      expect((await fetch('http://daemon/svc/health', { unix: one.daemonSocket })).status).toBe(200)
    }
    canary.close()
    abstract.close()
  })

  test('a fork bomb leaves the daemon room to answer and ends with the sandbox', async () => {
    void run(sandbox, ['bash', '-c', 'b() { b | b & }; b; sleep 60']).catch(() => {})
    await until('the bomb to fill the limit', async () => {
      const done = await run(sandbox, ['sh', '-c', 'ls -d /proc/[0-9]* | wc -l'], 'daemon')
      return Number(done.stdout) > limits.processesMax / 2
    })
    expect((await fetch('http://daemon/svc/health', { unix: sandbox.daemonSocket })).status).toBe(200)
    await driver.stop('walls')
    expect(existsSync(join(folder, 'walls', 'run', 'walls'))).toBe(false)
  })
})

describe('failures', () => {
  test('a daemon that dies at once: its last lines are the reason, and nothing is left', async () => {
    const driver = makeDriver('dies')
    const error = (await driver
      .create(specOf('dies', { STUB_DIES: 'no luck' }), never)
      .catch((e: unknown) => e)) as SandboxError
    expect(error.kind).toBe('boot-failed')
    expect(error.message).toContain('exit code 3')
    expect(error.message).toContain('the stub dies at once: no luck')
    expect(readdirSync(join(folder, 'dies', 'run'))).toEqual([])
  })

  test('an exit is told with its code and its last lines', async () => {
    const driver = makeDriver('exits')
    const ended = Promise.withResolvers<string>()
    driver.onExit((exit) => ended.resolve(exit.reason))
    const sandbox = await driver.create(specOf('exits'), never)
    await fetch('http://daemon/exit?code=9', { unix: sandbox.daemonSocket })
    expect(await ended.promise).toBe(
      'The sandbox ended by itself with exit code 9. Its last lines: the stub was told to end',
    )
  })

  test('no relay, no program: said plainly, before anything starts', async () => {
    const driver = makeDriver('missing')
    const spec = { ...specOf('missing'), relaySocket: join(folder, 'nobody.sock') }
    expect(((await driver.create(spec, never).catch((e: unknown) => e)) as SandboxError).message).toContain(
      'no socket at',
    )
    const without = createLocalDriver({
      stateDir: join(folder, 'm2'),
      svcBinary: '/nowhere/svc',
      runtimeBinary: program,
      log: () => {},
    })
    expect(await without.probe()).toEqual({
      kind: 'missing',
      problem: 'The program is not an executable file: /nowhere/svc',
      install: null,
    })
    const error = (await without.create(specOf('x'), never).catch((e: unknown) => e)) as SandboxError
    expect(error.kind).toBe('no-isolation')
  })

  test('without bubblewrap the one line that installs it is given', async () => {
    const code = `
      const { createLocalDriver } = await import('${resolve(import.meta.dir, 'driver.ts')}')
      const driver = createLocalDriver({ stateDir: '${join(folder, 'nobwrap')}', svcBinary: '${program}', runtimeBinary: '${program}', log() {} })
      console.log(JSON.stringify(await driver.probe()))`
    // A machine without it, played by a mount over the program that only this child sees.
    const child = Bun.spawn(
      [
        'unshare',
        '--mount',
        '--propagation',
        'private',
        'sh',
        '-c',
        'mount --bind /dev/null "$(command -v bwrap)" && exec "$@"',
        'sh',
        process.execPath,
        '-e',
        code,
      ],
      { stdout: 'pipe', stderr: 'inherit' },
    )
    const probed = JSON.parse(await new Response(child.stdout).text()) as {
      kind: string
      problem: string
      install: string
    }
    expect(probed).toMatchObject({ kind: 'missing', problem: 'bubblewrap is not installed.' })
    expect(probed.install).toMatch(/ bubblewrap$/)
  })
})
