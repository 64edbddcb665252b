/** The container driver with a real engine. Without one on this machine these tests are skipped and counted. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer as createProxy, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { driverConformance } from '../conformance/conformance.ts'
import type { SandboxDriver, SandboxExit } from '../driver.ts'
import { compileStub, listenAsRelay, runIn, testLimits, underTest, until } from '../conformance/testing-sandboxes.ts'
import { sandboxIsolation } from '../conformance/isolation.ts'
import { createContainerDriver } from './driver.ts'
import { engineSockets, findEngine } from './engine.ts'
import { startTestEngine } from './testing-engine.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(180_000)

const engine = await startTestEngine()
const never = new AbortController().signal
const isMissing = typeof engine === 'string'
if (isMissing) console.log(`The container driver is not tested: ${engine}`)
const sockets = isMissing ? [] : [engine.socket]
const folder = await mkdtemp(join(tmpdir(), 'svc-ctr-'))
const relaySocket = join(folder, 'relay', 'relay.sock')
let relay: Server | null = null
let program = ''
if (!isMissing) {
  program = await compileStub(folder)
  relay = await listenAsRelay(relaySocket)
}

afterAll(async () => {
  relay?.close()
  if (!isMissing) await engine.close()
  await rm(folder, { recursive: true, force: true })
})

const makeDriver = (name: string, leaseSeconds = 0, at = sockets): SandboxDriver =>
  createContainerDriver({
    stateDir: join(folder, name),
    svcBinary: program,
    runtimeBinary: program,
    sockets: at,
    log: () => {},
    bootMs: 90_000,
    leaseSeconds,
  })

/** A server that makes a sandbox called "one" and is killed. */
async function killServer(name: string, leaseSeconds: number): Promise<void> {
  const script = `
    const { createContainerDriver } = await import('${import.meta.dir}/driver.ts')
    const driver = createContainerDriver({ stateDir: '${join(folder, name)}', svcBinary: '${program}', runtimeBinary: '${program}', sockets: ${JSON.stringify(sockets)}, log() {}, bootMs: 90000, leaseSeconds: ${leaseSeconds} })
    await driver.create({ sandboxId: 'one', env: {}, limits: ${JSON.stringify(testLimits)}, relaySocket: '${relaySocket}' }, new AbortController().signal)
    console.log('ready')
    await new Promise(() => {})`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('ready\n')
  child.kill('SIGKILL')
  await child.exited
}

describe.skipIf(isMissing)('with an engine', () => {
  driverConformance('container', async () =>
    underTest(makeDriver('conformance'), relaySocket, async () => expect(await containers()).toEqual([])),
  )

  sandboxIsolation('container', async () => ({
    driver: makeDriver('walls'),
    relaySocket,
    stateFolder: join(folder, 'walls'),
    ownUids: null,
  }))

  test('a container ends with its server, and a sweep takes what is left', async () => {
    await killServer('killed', 0)
    await until('the container to end', async () => (await containers('running')).length === 0)
    const next = makeDriver('killed')
    await next.sweep()
    expect(await containers()).toEqual([])
    expect(await next.list()).toEqual([])
  })

  test('a container with a lease goes on for the next server, which adopts it, hears of its end and ends it', async () => {
    await killServer('adopted', 600)
    const next = makeDriver('adopted', 600)
    const [one] = await next.adopt()
    await next.sweep()
    expect(await next.find('one')).toEqual(one!)
    expect((await runIn(one!, ['echo', 'still here'])).stdout).toBe('still here\n')
    const ended = new Promise<SandboxExit>((resolve) => next.onExit(resolve))
    await fetch('http://daemon/exit?code=7', { unix: one!.daemonSocket })
    expect((await ended).reason).toContain('with exit code 7. Its last lines: the stub was told to end')
    await killServer('adopted', 600)
    const third = makeDriver('adopted', 600)
    expect((await third.adopt()).map(({ sandboxId }) => sandboxId)).toEqual(['one'])
    await third.stop('one')
    expect(await containers()).toEqual([])
  })

  test('a container ends when its lease is over', async () => {
    await killServer('over', 1)
    await until('the container to end', async () => (await containers('running')).length === 0)
    const next = makeDriver('over', 1)
    expect(await next.adopt()).toEqual([])
    await next.sweep()
    expect(await containers()).toEqual([])
  })

  test('a container goes on when the engine drops the request that waits for its end, and its end is still reported', async () => {
    const front = join(folder, 'front.sock')
    const waits: Socket[] = []
    const proxy = createProxy((connection) => {
      const upstream = connect(sockets[0]!)
      connection.on('data', (bytes) => bytes.includes('/wait HTTP/1.1') && waits.push(connection))
      connection.on('close', () => upstream.destroy()).pipe(upstream)
      upstream.on('close', () => connection.destroy()).pipe(connection)
    })
    await new Promise<void>((listening) => proxy.listen(front, listening))
    const driver = makeDriver('cut', 0, [front])
    const sandbox = await driver.create({ sandboxId: 'cut', env: {}, limits: testLimits, relaySocket }, never)
    await until('the driver to wait', () => waits.length === 1)
    const exits: SandboxExit[] = []
    driver.onExit((exit) => exits.push(exit))
    waits[0]!.destroy()
    await until('the driver to wait again', () => waits.length === 2)
    expect((await runIn(sandbox, ['echo', 'still here'])).stdout).toBe('still here\n')
    expect(exits).toEqual([])
    await fetch('http://daemon/exit?code=7', { unix: sandbox.daemonSocket })
    await until('the end to be reported', () => exits.length === 1)
    expect(exits[0]!.reason).toContain('with exit code 7')
    proxy.close()
  })

  test('a project brings an image of its own, built once from its files without a network', async () => {
    const driver = makeDriver('image')
    const found = await findEngine(sockets)
    if (found.kind === 'none') throw new Error('the engine is gone')
    // A FROM needs an image that the engine has: there is no registry here.
    await driver.create({ sandboxId: 'base', env: {}, limits: testLimits, relaySocket }, never)
    await driver.stop('base')
    const images = await found.engine.json<{ RepoTags: string[] | null }[]>('GET', '/images/json')
    const base = images.flatMap((image) => image.RepoTags ?? []).find((tag) => tag.startsWith('svc-sandbox-base:'))!
    let asked = 0
    const dockerfile = (run: string) => ({
      dockerfile: '.svc/Dockerfile',
      async context() {
        asked += 1
        const tree = await mkdtemp(join(folder, 'tree-'))
        await Bun.write(join(tree, 'hello.txt'), 'from the repository\n')
        await Bun.write(join(tree, '.svc/Dockerfile'), `FROM ${base}\nCOPY hello.txt /hello.txt\nRUN ${run}\n`)
        return Bun.spawn(['tar', '-c', '-C', tree, '.'], { stdout: 'pipe' }).stdout
      },
    })
    const image = {
      kind: 'built' as const,
      key: 'a'.repeat(40),
      ...dockerfile('test $(tail -n +3 /proc/net/dev | wc -l) = 1 && echo built > /built'),
    }
    for (const sandboxId of ['first', 'second']) {
      const sandbox = await driver.create({ sandboxId, env: {}, limits: testLimits, relaySocket, image }, never)
      expect((await runIn(sandbox, ['cat', '/hello.txt', '/built'])).stdout).toBe('from the repository\nbuilt\n')
      await driver.stop(sandboxId)
    }
    expect(asked).toBe(1)
    const broken = { kind: 'built' as const, key: 'b'.repeat(40), ...dockerfile('echo going && exit 7') }
    const failure = await driver
      .create({ sandboxId: 'third', env: {}, limits: testLimits, relaySocket, image: broken }, never)
      .catch((error: unknown) => error)
    expect(String(failure)).toContain("Couldn't build the image of .svc/Dockerfile")
    expect(String(failure)).toContain('returned a non-zero code: 7')
  })
})

async function containers(status?: string): Promise<unknown[]> {
  const found = await findEngine(sockets)
  if (found.kind === 'none') throw new Error('the engine is gone')
  const filters = encodeURIComponent(JSON.stringify(status === undefined ? {} : { status: [status] }))
  return found.engine.json('GET', `/containers/json?all=1&filters=${filters}`)
}

test('where engines are looked for, and that a client without one is none', async () => {
  expect(engineSockets('unix:///x/y.sock', '/run/user/7')).toEqual(['/x/y.sock'])
  expect(engineSockets('tcp://127.0.0.1:2375', undefined)).toEqual([])
  expect(engineSockets(undefined, '/run/user/7')[0]).toBe('/run/user/7/docker.sock')
  const driver = createContainerDriver({
    ...{ stateDir: join(folder, 'none'), svcBinary: program, runtimeBinary: program, log: () => {} },
    sockets: [join(folder, 'nobody.sock')],
  })
  expect(await driver.probe()).toMatchObject({ kind: 'missing', install: 'apt-get install -y docker.io' })
})
