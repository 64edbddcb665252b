/**
 * How long a sandbox of the kubernetes driver takes in a cluster with agent-sandbox, from the request to a daemon that
 * answers over the link, beside a claim alone until the cluster calls it ready. Both take a pod that waits in a pool.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { listenAsRelay, testLimits, until } from '../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { readAccess } from '../packages/sandbox/src/kubernetes/access.ts'
import { createClient } from '../packages/sandbox/src/kubernetes/client.ts'
import { createKubernetesDriver } from '../packages/sandbox/src/kubernetes/driver.ts'
import { startTestCluster } from '../test/kubernetes/cluster.ts'
import { stubImage, writeStubImage } from '../test/kubernetes/stub-image.ts'
import { median, percentile, printFigures, rounds as roundsOf, timed } from './report/figures.ts'

interface Listed {
  items: {
    metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string }
    status?: { conditions?: { type: string; status: string }[] }
  }[]
}

const rounds = roundsOf(20)
const promised = 1.5
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
  const isReady = ({ status }: Listed['items'][number]) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  const poolHasPod = () =>
    until('the pool to have a pod', async () => {
      const path = '/api/v1/namespaces/default/pods?labelSelector=agents.x-k8s.io/warm-pool-sandbox'
      const { items } = await client.json<Listed>('GET', path)
      const blank = items.filter(
        ({ metadata }) =>
          metadata.deletionTimestamp === undefined && metadata.labels?.['svc.sandbox.users.io/id'] === undefined,
      )
      return blank.some(isReady)
    })
  const claim = async (name: string) => {
    await client.json('POST', `${claims}/sandboxclaims`, {
      body: {
        ...{ apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', metadata: { name } },
        spec: { warmPoolRef: { name: pool!.metadata.name }, lifecycle: { shutdownPolicy: 'Delete' } },
      },
    })
    const path = `${claims}/sandboxclaims?fieldSelector=metadata.name%3D${name}`
    for await (const { object } of client.watch<Listed['items'][number]>(path)) if (isReady(object)) return
  }
  const times = { claim: [] as number[], ours: [] as number[] }
  for (let round = 0; round < rounds + 2; round++) {
    await poolHasPod()
    const floorMs = await timed(() => claim(`raw-${round}`))
    await client.remove(`${claims}/sandboxclaims/raw-${round}`)
    await poolHasPod()
    const oursMs = await timed(() => create(`one-${round}`))
    await driver.stop(`one-${round}`)
    // The first ones warm up.
    if (round < 2) continue
    times.claim.push(floorMs)
    times.ours.push(oursMs)
  }
  const floor = 'a claim until it is ready'
  const late = (values: number[]) => percentile(values, 95)
  printFigures('A sandbox in a cluster with agent-sandbox', [
    { what: 'a sandbox until its daemon answers', ms: median(times.ours), floor, floorMs: median(times.claim) },
    { what: 'the same, 95 of 100', ms: late(times.ours), floor, floorMs: late(times.claim) },
  ])
  const ratio = median(times.ours) / median(times.claim)
  console.log(`\nratio: ${ratio.toFixed(2)} of ${promised}`)
}
