/** The kubernetes driver with a real cluster. Without one on this machine these tests are skipped and counted. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { driverConformance } from '../../packages/sandbox/src/conformance/conformance.ts'
import { sandboxIsolation } from '../../packages/sandbox/src/conformance/isolation.ts'
import {
  listenAsRelay,
  runIn,
  testLimits,
  underTest,
  until,
} from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import type { SandboxDriver, SandboxExit } from '../../packages/sandbox/src/driver.ts'
import { createKubernetesDriver } from '../../packages/sandbox/src/kubernetes/driver.ts'
import { startTestCluster } from './cluster.ts'
import { stubImage, writeStubImage } from './stub-image.ts'

setDefaultTimeout(300_000)

const cluster = await startTestCluster({ agents: false })
const isMissing = typeof cluster === 'string'
if (isMissing) console.log(`The kubernetes driver is not tested: ${cluster}`)
const never = new AbortController().signal
const { kubeconfig, api, isOwn, folder: clusterFolder } = cluster as Exclude<typeof cluster, string>
const folder = await mkdtemp(join(tmpdir(), 'svc-kube-'))
const relaySocket = join(folder, 'relay', 'relay.sock')
let relay: Server | null = null
if (!isMissing) {
  await cluster.importImage(await writeStubImage(folder), stubImage)
  relay = await listenAsRelay(relaySocket)
}

afterAll(async () => {
  relay?.close()
  if (!isMissing) await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

const optionsOf = (name: string, leaseSeconds: number, image: string) => ({
  stateDir: join(folder, name),
  access: { kubeconfig, service: null },
  ...{
    namespace: null,
    image,
    projectImages: [],
    imagePullSecrets: [],
    runtimeClass: null,
    nodeSelector: {},
    workspaceStorageClass: null,
  },
  owner: name,
  bootMs: 90_000,
  leaseSeconds,
})

const makeDriver = (name: string, leaseSeconds = 0, image = stubImage): SandboxDriver =>
  createKubernetesDriver({
    ...optionsOf(name, leaseSeconds, image),
    seed: Buffer.alloc(32, 5),
    log: () => {},
  })

async function listPods() {
  const reply = await api('GET', '/api/v1/namespaces/default/pods')
  return ((await reply.json()) as { items: { metadata: { name: string }; status: { phase: string } }[] }).items
}

const pods = async () => (await listPods()).map(({ metadata }) => metadata.name)
const phases = async () => (await listPods()).map(({ status }) => status.phase)

describe.skipIf(isMissing)('with a cluster', () => {
  driverConformance('kubernetes', async () =>
    underTest(makeDriver('conformance'), relaySocket, async () => expect(await pods()).toEqual([])),
  )

  sandboxIsolation('kubernetes', async () => ({
    driver: makeDriver('walls'),
    relaySocket,
    stateFolder: join(folder, 'walls'),
    ownUids: null,
    // A pod has an interface, whose packets the network policy drops, and its node's /sys, read-only. The limit of its
    // processes is the kubelet's, which is above that of this test.
    weaker: [
      ...['an interface besides lo', 'a route', 'an IPv6 route away from lo'],
      ...['write /sys', 'control groups', 'firmware and security folders', 'more processes than allowed'],
    ],
  }))

  test('the specification of a pod holds nothing of its sandbox', async () => {
    const driver = makeDriver('blank')
    const env = { MY_SECRET: 'a value of the project', SVC_TOKEN: 'the key of the daemon' }
    const sandbox = await driver.create({ sandboxId: 'blank', env, limits: testLimits, relaySocket }, never)
    const text = await (await api('GET', `/api/v1/namespaces/default/pods/${sandbox.externalId}`)).text()
    for (const secret of ['MY_SECRET', ...Object.values(env)]) expect(text).not.toContain(secret)
    const inside = (await (await fetch('http://daemon/env', { unix: sandbox.daemonSocket })).json()) as typeof env
    expect(inside).toMatchObject(env)
    // What the kubelet gives every container names the API server.
    expect(Object.keys(inside).filter((name) => name.startsWith('KUBERNETES'))).toEqual([])
    await driver.stop('blank')
  })

  test('200 requests at once from a sandbox reach the server, and large answers arrive whole', async () => {
    const web = createServer((req, res) => res.end(`${req.url}\n${'x'.repeat(100_000)}\n`))
    const socket = join(folder, 'web', 'relay.sock')
    const door = await listenAsRelay(socket)
    door.removeAllListeners('connection').on('connection', (connection) => web.emit('connection', connection))
    const driver = makeDriver('burst')
    const sandbox = await driver.create({ sandboxId: 'burst', env: {}, limits: testLimits, relaySocket: socket }, never)
    const burst =
      'cd /tmp && curl --silent --parallel --parallel-max 200 --parallel-immediate --unix-socket /run/svc/relay/relay.sock "http://x/[1-200]" -o "answer-#1" && cat answer-* | wc -c && grep -l "^/" answer-* | wc -l'
    const done = await runIn(sandbox, ['bash', '-c', burst], 'daemon')
    const bytes = Array.from({ length: 200 }, (_, index) => `/${index + 1}\n`.length + 100_001)
    expect(done.stdout).toBe(`${bytes.reduce((sum, one) => sum + one)}\n200\n`)
    await driver.stop('burst')
    door.close()
  })

  test('a pod with a lease goes on for the next server, which adopts it, hears of its end and ends it', async () => {
    await killServer('adopted', 600)
    const next = makeDriver('adopted', 600)
    const [one] = await next.adopt()
    await next.sweep()
    expect(await next.find('one')).toEqual(one!)
    expect((await runIn(one!, ['echo', 'still here'])).stdout).toBe('still here\n')
    const ended = new Promise<SandboxExit>((resolve) => next.onExit(resolve))
    await fetch('http://daemon/exit?code=7', { unix: one!.daemonSocket })
    expect((await ended).reason).toContain('with exit code 7. Its last lines: the stub was told to end')
    await until('the pod to go', async () => (await pods()).length === 0)
  })

  test('a sweep ends what no server adopts', async () => {
    await killServer('swept', 600)
    const next = makeDriver('swept')
    expect(await next.adopt()).toEqual([])
    await next.sweep()
    await until('the pod to go', async () => (await pods()).length === 0)
  })

  test('a pod ends when its lease is over', async () => {
    await killServer('over', 1)
    await until('the pod to end', async () => (await phases()).every((phase) => phase === 'Succeeded'))
    const next = makeDriver('over', 1)
    expect(await next.adopt()).toEqual([])
    await next.sweep()
    await until('the pod to go', async () => (await pods()).length === 0)
  })

  test('an image that no node has fails the start with the reason of the cluster', async () => {
    const driver = makeDriver('no-image', 0, 'svc.invalid/nothing:1')
    const outcome = await driver.probe()
    expect(outcome).toMatchObject({ kind: 'missing' })
    expect(JSON.stringify(outcome)).toContain('svc.invalid/nothing:1')
  })

  test.skipIf(!isOwn)('a cluster that ignores network policies is refused', async () => {
    await writeFile(join(clusterFolder, 'OPEN'), '')
    const outcome = await makeDriver('open').probe()
    await rm(join(clusterFolder, 'OPEN'))
    expect(outcome).toMatchObject({ kind: 'missing', install: expect.stringContaining('Cilium or Calico') })
    expect(JSON.stringify(outcome)).toContain('ignores NetworkPolicy')
  })

  test.skipIf(!isOwn)(
    'sandboxes of an earlier server are adopted without the test, which a new one waits for',
    async () => {
      await killServer('early', 600)
      await writeFile(join(clusterFolder, 'OPEN'), '')
      const next = makeDriver('early', 600)
      expect((await next.adopt()).map(({ sandboxId }) => sandboxId)).toEqual(['one'])
      await expect(next.create({ sandboxId: 'two', env: {}, limits: testLimits, relaySocket }, never)).rejects.toThrow(
        'ignores NetworkPolicy',
      )
      await rm(join(clusterFolder, 'OPEN'))
      await next.stop('one')
    },
  )

  test('the report says what is weaker', async () => {
    const findings = await makeDriver('report').examine()
    expect(findings.filter(({ state }) => state === 'missing')).toEqual([])
    expect(findings.find(({ name }) => name === 'network')).toMatchObject({ state: 'good' })
    const weak = findings.filter(({ state }) => state === 'weak').map(({ name }) => name)
    expect(weak).toEqual(['kernel', 'users', 'devices', 'limits', 'project images'])
  })
})

/** A server that makes a sandbox called "one" and is killed. */
async function killServer(name: string, leaseSeconds: number): Promise<void> {
  const script = `
    const { createKubernetesDriver } = await import('${resolve(import.meta.dir, '../../packages/sandbox/src/kubernetes/driver.ts')}')
    const driver = createKubernetesDriver({ ...${JSON.stringify(optionsOf(name, leaseSeconds, stubImage))}, seed: Buffer.alloc(32, 5), log() {} })
    await driver.create({ sandboxId: 'one', env: {}, limits: ${JSON.stringify(testLimits)}, relaySocket: '${relaySocket}' }, new AbortController().signal)
    console.log('ready')
    await new Promise(() => {})`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('ready\n')
  child.kill('SIGKILL')
  await child.exited
}
