/** The driver on this machine: real bubblewrap, real limits, real kills. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { driverConformance } from '../conformance/conformance.ts'
import type { SandboxDriver, SandboxError, SandboxSpec } from '../driver.ts'
import { compileStub, listenAsRelay, testLimits as limits, underTest } from '../conformance/testing-sandboxes.ts'
import { sandboxIsolation } from '../conformance/isolation.ts'
import { createLocalDriver } from './driver.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(180_000)

const never = new AbortController().signal
let folder: string
let program: string
let relaySocket: string
let relay: Server

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-drv-'))
  program = await compileStub(folder)
  relaySocket = join(folder, 'relay', 'relay.sock')
  relay = await listenAsRelay(relaySocket)
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

driverConformance('local', async () =>
  underTest(makeDriver('conformance'), relaySocket, () =>
    expect(readdirSync(join(folder, 'conformance', 'run'))).toEqual([]),
  ),
)

sandboxIsolation('local', async () => ({
  driver: makeDriver('walls'),
  relaySocket,
  stateFolder: join(folder, 'walls'),
  ownUids: /^\s*0\s+1\d{9}\s+65536\s*$/,
}))

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
      'is not a socket',
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

  test.each([
    ['mkdir -p /run/systemd/system', 'Run the server as a service of the system, .*: svc self-host unit --system$'],
    ['true', 'Run the server as root, or where its user may write the control groups'],
  ])('a server without control groups is told what gives it some: with %s', async (made, remedy) => {
    const code = `
      const { createLocalDriver } = await import('${resolve(import.meta.dir, 'driver.ts')}')
      const driver = createLocalDriver({ stateDir: '${join(folder, 'nogroups')}', svcBinary: '${program}', runtimeBinary: '${program}', log() {} })
      const { warnings } = await driver.probe()
      console.log(JSON.stringify({ warnings, findings: await driver.examine() }))`
    const arrange = `umount --recursive /sys/fs/cgroup && mount -t tmpfs tmpfs /run && ${made} && exec "$@"`
    const child = Bun.spawn(
      ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', arrange, 'sh', process.execPath, '-e', code],
      { stdout: 'pipe', stderr: 'inherit' },
    )
    const { warnings, findings } = JSON.parse(await new Response(child.stdout).text()) as {
      warnings: string[]
      findings: { name: string }[]
    }
    expect(findings.find(({ name }) => name === 'limits')).toMatchObject({
      state: 'weak',
      mend: expect.stringMatching(new RegExp(remedy)),
    })
    expect(warnings.find((each) => each.includes('control groups'))).toMatch(new RegExp(remedy))
  })
})
