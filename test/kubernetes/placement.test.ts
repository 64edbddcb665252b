/**
 * Where the sandboxes of the kubernetes driver run, and on what: node selector, runtime class and storage class. Without a
 * cluster these tests are skipped and counted.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { listenAsRelay, runIn, testLimits, until } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { createKubernetesDriver, type KubernetesOptions } from '../../packages/sandbox/src/kubernetes/driver.ts'
import type { Pod } from '../../packages/sandbox/src/kubernetes/pod.ts'
import { startTestCluster } from './cluster.ts'
import { stubImage, writeStubImage } from './stub-image.ts'
import { makeVolumes, storageClass } from './volumes.ts'

setDefaultTimeout(300_000)

const cluster = await startTestCluster({ agents: false })
const isMissing = typeof cluster === 'string' || !cluster.isOwn
if (typeof cluster === 'string') console.log(`The placement of sandboxes is not tested: ${cluster}`)
const { kubeconfig, api } = cluster as Exclude<typeof cluster, string>
const folder = await mkdtemp(join(tmpdir(), 'svc-placement-'))
const relaySocket = join(folder, 'relay', 'relay.sock')
const never = new AbortController().signal
let relay: Server | null = null
if (!isMissing && typeof cluster !== 'string') {
  await cluster.importImage(await writeStubImage(folder), stubImage)
  await makeVolumes(cluster, 1)
  relay = await listenAsRelay(relaySocket)
}

afterAll(async () => {
  relay?.close()
  if (typeof cluster !== 'string') await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

const makeDriver = (name: string, options: Partial<KubernetesOptions>) =>
  createKubernetesDriver({
    ...{ stateDir: join(folder, name), access: { kubeconfig, service: null }, namespace: null, image: stubImage },
    ...{
      projectImages: [],
      imagePullSecrets: [],
      runtimeClass: null,
      nodeSelector: {},
      workspaceStorageClass: null,
      owner: name,
      seed: Buffer.alloc(32, 5),
    },
    ...{ log: () => {}, bootMs: 90_000, leaseSeconds: 600 },
    ...options,
  })

async function list<Item>(kind: string): Promise<Item[]> {
  return ((await (await api('GET', `/api/v1/namespaces/default/${kind}`)).json()) as { items: Item[] }).items
}

describe.skipIf(isMissing)('with a cluster', () => {
  test('a sandbox waits for a node with the labels of the node selector', async () => {
    const driver = makeDriver('selector', { nodeSelector: { pool: 'agents' } })
    const made = driver.create({ sandboxId: 'one', env: {}, limits: testLimits, relaySocket }, never)
    await until('a pod that no node takes', async () =>
      (await list<Pod>('pods')).some(({ status }) =>
        status?.conditions?.some(({ message }) => message?.includes("didn't match Pod's node affinity/selector")),
      ),
    )
    await labelNode('pool', 'agents')
    const sandbox = await made
    expect((await runIn(sandbox, ['echo', 'runs'])).stdout).toBe('runs\n')
    await driver.stop('one')
  })

  test('a sandbox has the runtime class, and an unknown one fails its start with the reason of the cluster', async () => {
    const reply = await api('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'own' },
      handler: 'runc',
    })
    expect(reply.status).toBe(201)
    const driver = makeDriver('class', { runtimeClass: 'own' })
    const sandbox = await driver.create({ sandboxId: 'one', env: {}, limits: testLimits, relaySocket }, never)
    const pod = (await list<Pod & { spec: { runtimeClassName?: string } }>('pods')).find(
      ({ metadata }) => metadata.name === sandbox.externalId,
    )
    expect(pod?.spec.runtimeClassName).toBe('own')
    await driver.stop('one')
    expect(JSON.stringify(await makeDriver('none', { runtimeClass: 'none' }).probe())).toContain(
      'RuntimeClass \\"none\\" not found',
    )
  })

  test('a work tree larger than memory is on a volume of the storage class, which goes with its sandbox', async () => {
    const driver = makeDriver('storage', { workspaceStorageClass: storageClass })
    const limits = { ...testLimits, diskBytesMax: testLimits.memoryBytesMax * 2 }
    const sandbox = await driver.create({ sandboxId: 'one', env: {}, limits, relaySocket }, never)
    const types = await runIn(sandbox, ['stat', '--file-system', '--format=%T', '/workspace', '/tmp'])
    expect(types.stdout.split('\n').slice(0, 2)).toEqual([expect.not.stringContaining('tmpfs'), 'tmpfs'])
    const write = await runIn(sandbox, ['bash', '-c', 'echo kept > /workspace/a && cat /workspace/a'])
    expect(write.stdout).toBe('kept\n')
    expect(await list('persistentvolumeclaims')).toHaveLength(1)
    await driver.stop('one')
    await until('the claim to go', async () => (await list('persistentvolumeclaims')).length === 0)
  })
})

async function labelNode(name: string, value: string): Promise<void> {
  const path = '/api/v1/nodes/node-1'
  const node = (await (await api('GET', path)).json()) as { metadata: { labels: Record<string, string> } }
  node.metadata.labels[name] = value
  const reply = await api('PUT', path, node)
  if (!reply.ok) throw new Error(await reply.text())
}
