/** The kubernetes driver in a cluster with agent-sandbox. Without a cluster these tests are skipped and counted. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { driverConformance } from '../../packages/sandbox/src/conformance/conformance.ts'
import {
  listenAsRelay,
  runIn,
  testLimits,
  underTest,
  until,
} from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { writeImageArchive } from '../../packages/sandbox/src/container/image-archive.ts'
import type { Sandbox, SandboxDriver } from '../../packages/sandbox/src/driver.ts'
import { serverIdentity } from '@svc/link'
import { openCluster } from '../../packages/sandbox/src/kubernetes/cluster.ts'
import { createKubernetesDriver } from '../../packages/sandbox/src/kubernetes/driver.ts'
import { linksOf } from '../../packages/sandbox/src/kubernetes/links.ts'
import { isBlank } from '../../packages/sandbox/src/kubernetes/pod.ts'
import { followPods } from '../../packages/sandbox/src/kubernetes/pods.ts'
import { startTestCluster } from './cluster.ts'
import { stubImage, writeStubImage } from './stub-image.ts'

setDefaultTimeout(300_000)

const cluster = await startTestCluster({ agents: true })
const isMissing = typeof cluster === 'string'
if (isMissing) console.log(`Claims of agent-sandbox are not tested: ${cluster}`)
const { kubeconfig, api, importImage } = cluster as Exclude<typeof cluster, string>
const folder = await mkdtemp(join(tmpdir(), 'svc-claims-'))
const relaySocket = join(folder, 'relay', 'relay.sock')
const never = new AbortController().signal
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

const makeDriver = (name: string, image = stubImage): SandboxDriver =>
  createKubernetesDriver({
    stateDir: join(folder, name),
    access: { kubeconfig, service: null },
    ...{
      namespace: null,
      image,
      projectImages: ['svc.test/projects/*'],
      imagePullSecrets: [],
      runtimeClass: null,
      nodeSelector: {},
      workspaceStorageClass: null,
    },
    ...{ owner: name, seed: Buffer.alloc(32, 5), log: () => {}, bootMs: 90_000, leaseSeconds: 600 },
  })

async function names(kind: string): Promise<string[]> {
  const reply = await api('GET', `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/${kind}`)
  return ((await reply.json()) as { items: { metadata: { name: string } }[] }).items.map(
    ({ metadata }) => metadata.name,
  )
}

describe.skipIf(isMissing)('with agent-sandbox', () => {
  test('a project brings an image without the programs of the service, and a pool of its own', async () => {
    const project = 'svc.test/projects/app:1'
    const output = join(folder, 'project.tar')
    await writeImageArchive({ svcBinary: '/bin/false', runtimeBinary: '/bin/false', output, reference: project })
    await importImage(output, project)
    const driver = makeDriver('project')
    const image = { kind: 'named' as const, reference: project }
    const create = (sandboxId: string, more: object) =>
      driver.create({ sandboxId, env: {}, limits: testLimits, relaySocket, ...more }, never)
    const [own, plain] = await Promise.all([create('own', { image }), create('plain', {})])
    for (const sandbox of [own, plain]) expect((await runIn(sandbox, ['echo', 'works'])).stdout).toBe('works\n')
    const imageOf = async ({ externalId }: Sandbox) => {
      const reply = await api('GET', `/api/v1/namespaces/default/pods/${externalId}`)
      return ((await reply.json()) as { spec: { containers: { image: string }[] } }).spec.containers[0]!.image
    }
    expect([await imageOf(own), await imageOf(plain)]).toEqual([project, stubImage])
    const pools = await names('sandboxwarmpools')
    await makeDriver('project').sweep()
    expect(await names('sandboxwarmpools')).toEqual(pools)
    const refused = await create('refused', { image: { kind: 'named', reference: 'svc.test/other:1' } }).catch(String)
    expect(String(refused)).toContain('svc.test/other:1, which the operator does not allow')
    for (const id of ['own', 'plain']) await driver.stop(id)
  })

  driverConformance('kubernetes by claims', async () =>
    underTest(makeDriver('conformance'), relaySocket, async () => expect(await names('sandboxclaims')).toEqual([])),
  )

  test('a claim takes a pod that ran before, and the next server adopts it and gives it back', async () => {
    const driver = makeDriver('claims')
    const spec = (sandboxId: string) => ({ sandboxId, env: { WHO: sandboxId }, limits: testLimits, relaySocket })
    // The first one makes the pool.
    const first = await driver.create(spec('first'), never)
    // Another driver of this cluster has a pool of its own.
    const prefix = first.externalId.slice(0, 'svc-01234567-'.length)
    const blank = async () => {
      const reply = await api('GET', '/api/v1/namespaces/default/pods?labelSelector=agents.x-k8s.io/warm-pool-sandbox')
      const { items } = (await reply.json()) as {
        items: { metadata: { name: string; labels: Record<string, string> }; status: { phase: string } }[]
      }
      return items.filter(
        ({ metadata, status }) =>
          status.phase === 'Running' &&
          metadata.name.startsWith(prefix) &&
          metadata.labels['svc.sandbox.users.io/id'] === undefined,
      )
    }
    await until('the pool to have a pod again', async () => (await blank()).length > 0)
    const waiting = (await blank()).map(({ metadata }) => metadata.name)
    const second = await driver.create(spec('second'), never)
    expect(waiting).toContain(second.externalId)
    const next = makeDriver('claims')
    expect((await next.adopt()).map(({ sandboxId }) => sandboxId).toSorted()).toEqual(['first', 'second'])
    await next.sweep()
    const found = await next.find('second')
    expect(found?.externalId).toBe(second.externalId)
    const env = (await (await fetch('http://daemon/env', { unix: found!.daemonSocket })).json()) as Record<
      string,
      string
    >
    expect(env['WHO']).toBe('second')
    expect((await runIn(found!, ['echo', 'still here'])).stdout).toBe('still here\n')
    for (const id of ['first', 'second']) await next.stop(id)
    expect(await names('sandboxclaims')).toEqual([])
    // Pools of this image stay for the next server.
    const pools = await names('sandboxwarmpools')
    expect(pools.length).toBeGreaterThan(0)
    await makeDriver('claims').sweep()
    expect(await names('sandboxwarmpools')).toEqual(pools)
  })

  test('a pod that was booted for a claim of a killed server is removed, and no sandbox gets its identity', async () => {
    const driver = makeDriver('killed')
    const create = (sandboxId: string) =>
      driver.create({ sandboxId, env: { WHO: sandboxId }, limits: testLimits, relaySocket }, never)
    const first = await create('first')
    const prefix = first.externalId.slice(0, 'svc-01234567-'.length)
    const access = { kubeconfig, service: null }
    const open = await openCluster({ access, namespace: null })
    const path = '/api/v1/namespaces/default/pods'
    const pods = followPods(open.client, `${path}?limit=500`, () => {})
    await pods.start()
    const links = linksOf({
      ...{ cluster: open, path, pods, image: stubImage, log: () => {} },
      identity: serverIdentity(Buffer.alloc(32, 5)),
    })
    const blank = () => [...pods.pods.values()].find((each) => each.metadata.name.startsWith(prefix) && isBlank(each))
    await until('the pool to have a pod again', () => blank()?.status?.phase === 'Running')
    const pod = blank()!
    const link = await links.to(pod, never)
    // The server is killed here: the pod has an identity, and no claim was made.
    expect(await link.boot({ env: { WHO: 'nobody' }, args: [], relays: [] }, 30_000)).toBeTrue()
    await link.close()

    const next = makeDriver('killed')
    await next.adopt()
    const spec = { sandboxId: 'second', env: { WHO: 'second' }, limits: testLimits, relaySocket }
    const second = await next.create(spec, never).catch(async (error: Error) => {
      // The claim got that pod before the server looked into it.
      expect(error.message).toContain('booted for another sandbox')
      return next.create({ ...spec, sandboxId: 'third', env: { WHO: 'second' } }, never)
    })
    const env = (await (await fetch('http://daemon/env', { unix: second.daemonSocket })).json()) as { WHO: string }
    expect(env.WHO).toBe('second')
    await until('the booted pod to go', async () => pods.pods.get(pod.metadata.name)?.metadata.uid !== pod.metadata.uid)
    for (const id of ['first', second.sandboxId]) await next.stop(id)
    expect(await names('sandboxclaims')).toEqual([])
  })

  test('another server ends what a lost one has in the cluster, and nothing else', async () => {
    const create = (driver: SandboxDriver, sandboxId: string) =>
      driver.create({ sandboxId, env: {}, limits: testLimits, relaySocket }, never)
    const other = makeDriver('other')
    const [left, own] = await Promise.all([create(makeDriver('lost'), 'left'), create(other, 'own')])
    const prefixOf = ({ externalId }: Sandbox) => externalId.slice(0, 'svc-01234567-'.length)
    const pools = async (of: Sandbox) =>
      (await names('sandboxwarmpools')).filter((name) => name.startsWith(prefixOf(of))).length
    expect([await pools(left), await pools(own)]).toEqual([1, 1])
    await other.endOf!('lost')
    expect([await pools(left), await pools(own)]).toEqual([0, 1])
    const pods = async () => {
      const reply = await api('GET', '/api/v1/namespaces/default/pods')
      const { items } = (await reply.json()) as { items: { metadata: { name: string } }[] }
      return items.filter(({ metadata }) => metadata.name.startsWith(prefixOf(left)))
    }
    await until('the pods of the lost server to go', async () => (await pods()).length === 0)
    expect((await runIn(own, ['echo', 'still here'])).stdout).toBe('still here\n')
    await other.stop('own')
    expect(await names('sandboxclaims')).toEqual([])
  })
})
