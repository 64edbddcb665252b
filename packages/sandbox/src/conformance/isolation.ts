/** Tests the isolation of a real sandbox: what the agent sees, what it cannot do, and resource limits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Sandbox, SandboxDriver, SandboxSpec } from '../driver.ts'
import { escapeProbes, exhaustionProbes, probeScript, type Targets } from './escape-probes.ts'
import { memorySentence } from '../layout.ts'
import { processesWith, runIn, testLimits as limits, until } from './testing-sandboxes.ts'

export interface IsolatingDriver {
  driver: SandboxDriver
  relaySocket: string
  /** The driver's own folder. */
  stateFolder: string
  /** The agent's /proc/self/uid_map; null where the driver maps nothing. */
  ownUids: RegExp | null
  /** Attempts that succeed with this driver, whose report says what is weaker. None by default. */
  weaker?: string[]
}

const never = new AbortController().signal
const allProbes = [...escapeProbes, ...exhaustionProbes]

export function sandboxIsolation(name: string, make: () => Promise<IsolatingDriver>): void {
  describe(`the walls of ${name}`, () => {
    let under: IsolatingDriver
    let sandbox: Sandbox
    let folder: string
    /** A value that no other program of this machine has. */
    const secret = `secret-${crypto.randomUUID()}`
    const specOf = (sandboxId: string, env: Record<string, string> = {}): SandboxSpec => ({
      ...{ sandboxId, env, limits, relaySocket: under.relaySocket },
    })
    const isWell = async (one: Sandbox) =>
      (await fetch('http://daemon/svc/health', { unix: one.daemonSocket })).status === 200

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'svc-walls-'))
      under = await make()
      const env = {
        MY_SECRET: `it's a\n"${secret}"`,
        LD_PRELOAD: '/workspace/evil.so',
        BUN_OPTIONS: '--preload x',
        BUN_BE_BUN: '1',
      }
      sandbox = await under.driver.create(specOf('walls', env), never)
    })
    afterAll(async () => {
      for (const id of ['walls', 'other', 'hungry']) await under?.driver.stop(id)
      await rm(folder, { recursive: true, force: true })
    })

    test('it gets its environment, without the names that change how programs start, and not by argv', async () => {
      const reply = await fetch('http://daemon/env', { unix: sandbox.daemonSocket })
      const env = (await reply.json()) as Record<string, string>
      expect(env['MY_SECRET']).toBe(`it's a\n"${secret}"`)
      expect(env['SVC_WORKSPACE']).toBe('/workspace')
      expect(Object.keys(env).filter((variable) => /^(LD_|BUN_)/.test(variable))).toEqual([])
      expect(processesWith(secret)).toEqual([])
    })

    test('the agent is 1000 and the daemon 0', async () => {
      expect((await runIn(sandbox, ['id', '-u'])).stdout).toBe('1000\n')
      expect((await runIn(sandbox, ['id', '-u'], 'daemon')).stdout).toBe('0\n')
      if (under.ownUids === null) return
      expect((await runIn(sandbox, ['cat', '/proc/self/uid_map'])).stdout).toMatch(under.ownUids)
    })

    test('it has the programs an agent needs', async () => {
      const commands = 'git --version && rg --version && bash -c true && ls /etc/ssl/certs | head -1'
      const done = await runIn(sandbox, ['bash', '-c', commands])
      expect(done.stderr).toBe('')
      expect(done.code).toBe(0)
    })

    test(`it withstands ${allProbes.length} attempts to leave it, and its neighbor is unharmed`, async () => {
      expect(allProbes.length).toBeGreaterThanOrEqual(150)
      const other = await under.driver.create(specOf('other'), never)
      const canaries = await startCanaries()
      const hostFile = join(folder, 'host-secret')
      await writeFile(hostFile, 'host secret', { mode: 0o644 })
      const targets: Targets = {
        CANARY_PORT: String(canaries.port),
        CANARY_ABSTRACT: canaries.abstract,
        HOST_FILE: hostFile,
        OTHER_FOLDER: join(other.daemonSocket, '..'),
        STATE_FOLDER: under.stateFolder,
        HOST_PID: String(process.pid),
        DISK_BYTES: String(limits.diskBytesMax + 1),
        MEMORY_BYTES: String(limits.memoryBytesMax + 4 * limits.diskBytesMax),
        PROCESSES: String(limits.processesMax),
      }
      const done = await runIn(sandbox, ['bash', '-c', probeScript(targets, allProbes)])
      const expected = [...(under.weaker ?? []).map((name) => `ESCAPED: ${name}`), `PROBES RUN: ${allProbes.length}`]
      expect(done.stdout.trim().split('\n').toSorted()).toEqual(expected.toSorted())
      expect(canaries.touched).toEqual([])
      for (const one of [sandbox, other]) expect(await isWell(one)).toBeTrue()
      canaries.close()
    })

    test('a full disk fails only the program that filled it', async () => {
      const fill =
        'head -c 1000000000 /dev/zero > /workspace/full; df --output=pcent /workspace | tail -1; rm /workspace/full'
      const done = await runIn(sandbox, ['bash', '-c', fill])
      expect(done.stderr).toContain('No space left on device')
      expect(done.stdout.trim()).toBe('100%')
      expect((await runIn(sandbox, ['bash', '-c', 'echo again > /workspace/again'])).code).toBe(0)
    })

    test('out of memory ends the program that used it, and its neighbors keep running', async () => {
      const hungry = await under.driver.create(specOf('hungry'), never)
      const known = await under.driver.memoryTrouble('hungry')
      expect(known).toBeNull()
      const eat = 'echo 500 > /proc/self/oom_score_adj; perl -e \'$x="x" x 2000000000\'; echo ended with $?'
      const done = await runIn(hungry, ['bash', '-c', eat])
      expect(done.stdout).toMatch(/ended with (137|1|12)\n/)
      expect(await isWell(hungry)).toBeTrue()
      expect(await isWell(sandbox)).toBeTrue()
      const trouble = memorySentence(limits)
      expect(trouble).toBe('out of memory (limit 256 MiB, and 64 MiB that it shares with its files)')
      expect(await under.driver.memoryTrouble('hungry')).toBe(trouble)
      expect(await under.driver.memoryTrouble('walls')).toBeOneOf([null, trouble])
    })

    test('the daemon still answers during a fork bomb, which ends with the sandbox', async () => {
      void runIn(sandbox, ['bash', '-c', 'b() { b | b & }; b; sleep 60']).catch(endsWithTheSandbox)
      await until('the bomb to fill the limit', async () => {
        const done = await runIn(sandbox, ['sh', '-c', 'ls -d /proc/[0-9]* | wc -l'], 'daemon')
        return Number(done.stdout) > limits.processesMax / 2
      })
      expect(await isWell(sandbox)).toBeTrue()
      const runFolder = join(sandbox.daemonSocket, '..')
      await under.driver.stop('walls')
      expect(existsSync(runFolder)).toBe(false)
    })
  })
}

async function startCanaries() {
  const touched: string[] = []
  const canary = createServer((socket) => void socket.end('canary touched'))
  canary.on('connection', () => touched.push('tcp'))
  await new Promise<void>((listening) => canary.listen(0, '127.0.0.1', listening))
  const abstract = `svc-canary-${process.pid}`
  const hidden = createServer(() => touched.push('abstract'))
  await new Promise<void>((listening) => hidden.listen(`\0${abstract}`, listening))
  return {
    touched,
    abstract,
    port: (canary.address() as { port: number }).port,
    close() {
      canary.close()
      hidden.close()
    },
  }
}

/** The bomb never ends by itself. */
function endsWithTheSandbox(): void {}
