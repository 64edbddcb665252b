/**
 * How long a sandbox of the kubernetes driver takes in a cluster with agent-sandbox, from the request to a daemon that
 * answers over the link, beside a claim alone until the cluster calls it ready, and until bytes of its pod arrive. All
 * take a pod that waits in a pool.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { listenAsRelay, testLimits, until } from '../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { readAccess } from '../packages/sandbox/src/kubernetes/access.ts'
import { type Client, createClient } from '../packages/sandbox/src/kubernetes/client.ts'
import { createKubernetesDriver } from '../packages/sandbox/src/kubernetes/driver.ts'
import { linkPort } from '../packages/sandbox/src/layout.ts'
import { startTestCluster } from '../test/kubernetes/cluster.ts'
import { stubImage, writeStubImage } from '../test/kubernetes/stub-image.ts'
import { median, percentile, printFigures, rounds as roundsOf, timed } from './report/figures.ts'

interface Listed {
  items: {
    metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string }
    status?: { conditions?: { type: string; status: string }[]; sandbox?: { name: string } }
  }[]
}

const rounds = roundsOf(20)
const promised = 1.5
const settleMs = 1000
const never = new AbortController().signal
const claims = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default'

process.env['SVC_TEST_KUBERNETES'] ??= '1'
const cluster = await startTestCluster({ agents: true })
if (typeof cluster === 'string') console.log(`Nothing is measured: ${cluster}`)
else {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const relaySocket = join(folder, 'relay', 'relay.sock')
  const relay = await listenAsRelay(relaySocket)
  try {
    await cluster.importImage(await writeStubImage(folder), stubImage)
    await measure(cluster.kubeconfig, folder, relaySocket)
  } finally {
    relay.close()
    await cluster.close()
    await rm(folder, { recursive: true, force: true })
  }
  // The driver watches its pods for as long as its process runs.
  process.exit()
}

async function measure(kubeconfig: string, folder: string, relaySocket: string): Promise<void> {
  const access = { kubeconfig, service: null }
  const client = createClient(readAccess(access))
  const driver = createKubernetesDriver({
    ...{
      stateDir: join(folder, 'driver'),
      access,
      namespace: null,
      image: stubImage,
      projectImages: [],
      imagePullSecrets: [],
      runtimeClass: null,
    },
    ...{ nodeSelector: {}, workspaceStorageClass: null, owner: 'bench', seed: Buffer.alloc(32, 5), leaseSeconds: 600 },
    log: () => {},
  })
  const create = (sandboxId: string) => driver.create({ sandboxId, env: {}, limits: testLimits, relaySocket }, never)
  // Makes the pool.
  await create('first')
  await driver.stop('first')
  const [pool] = (await client.json<Listed>('GET', `${claims}/sandboxwarmpools`)).items
  const floors = floorsOf(client, pool!.metadata.name)
  const times = { claim: [] as number[], reached: [] as number[], ours: [] as number[] }
  for (let round = 0; round < rounds + 2; round++) {
    const name = `raw-${round}`
    await poolHasPod(client)
    const start = performance.now()
    const pod = await floors.claim(name)
    const claimMs = performance.now() - start
    await floors.reach(pod)
    const reachedMs = performance.now() - start
    await client.remove(`${claims}/sandboxclaims/${name}`)
    await poolHasPod(client)
    const oursMs = await timed(() => create(`one-${round}`))
    await driver.stop(`one-${round}`)
    // The first ones warm up.
    if (round < 2) continue
    times.claim.push(claimMs)
    times.reached.push(reachedMs)
    times.ours.push(oursMs)
  }
  report(times)
}

function isReady({ status }: Listed['items'][number]): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
}

/** Pods wait in a pool for minutes, as a rule, so what server and cluster do with a new one is not measured. */
async function poolHasPod(client: Client): Promise<void> {
  await until('the pool to have a pod', async () => {
    const path = '/api/v1/namespaces/default/pods?labelSelector=agents.x-k8s.io/warm-pool-sandbox'
    const { items } = await client.json<Listed>('GET', path)
    const blank = items.filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined && metadata.labels?.['svc.sandbox.users.io/id'] === undefined,
    )
    return blank.some(isReady)
  })
  await Bun.sleep(settleMs)
}

function floorsOf(client: Client, pool: string) {
  return {
    /** The name of the pod, once the cluster calls the claim ready. */
    async claim(name: string): Promise<string> {
      await client.json('POST', `${claims}/sandboxclaims`, {
        body: {
          ...{ apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', metadata: { name } },
          spec: { warmPoolRef: { name: pool }, lifecycle: { shutdownPolicy: 'Delete' } },
        },
      })
      const path = `${claims}/sandboxclaims?fieldSelector=metadata.name%3D${name}`
      for await (const { object } of client.watch<Listed['items'][number]>(path))
        if (isReady(object)) return object.status!.sandbox!.name
      throw new Error('The watch ended before the claim was ready.')
    },
    /** The first bytes of PID 1, over a connection that only a claimed pod gets. */
    async reach(pod: string): Promise<void> {
      const wire = await client.portForward('default', pod, linkPort)
      await new Promise((resolve) => wire.once('data', resolve))
      wire.destroy()
    },
  }
}

function report(times: Record<'claim' | 'reached' | 'ours', number[]>): void {
  const late = (values: number[]) => percentile(values, 95)
  const figures = ([of, suffix]: [(values: number[]) => number, string]) => [
    {
      what: `a sandbox until its daemon answers${suffix}`,
      ms: of(times.ours),
      floor: 'a claim until it is ready',
      floorMs: of(times.claim),
    },
    {
      what: `a sandbox until its daemon answers${suffix}`,
      ms: of(times.ours),
      floor: 'the same, and bytes through a port-forward',
      floorMs: of(times.reached),
    },
  ]
  printFigures('A sandbox in a cluster with agent-sandbox', [
    ...figures([median, '']),
    ...figures([late, ', 95 of 100']),
  ])
  const ratio = median(times.ours) / median(times.claim)
  console.log(`\nratio: ${ratio.toFixed(2)} of ${promised}`)
}
