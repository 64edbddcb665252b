/** Sandboxes as pods of a real cluster on this machine, whose API every server reaches over a link that can be cut. */
import { readFileSync, readlinkSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { until } from '../../e2e/harness.ts'
import { makeAccount, makeNamespace } from '../../kubernetes/account.ts'
import { startOwnCluster, type TestCluster } from '../../kubernetes/cluster.ts'
import { kubeconfig } from '../../kubernetes/configs.ts'
import { writeSandboxImage } from '../../kubernetes/sandbox-image.ts'
import { procFile } from '../../processes.ts'
import { type Process, processes } from '../sandbox-leaks.ts'
import { killOf, victimKinds, type Victim } from '../sandbox-victims.ts'
import { clusterHarms } from './cluster-harms.ts'
import type { Fleet } from './fleet.ts'
import { clusterAddress } from './namespaces.ts'
import type { Network } from './network.ts'
import type { Sandboxes } from './sandboxes.ts'

const namespace = 'svc-sandboxes'
const image = 'svc.test/torture:1'
const claimsGroup = 'extensions.agents.x-k8s.io'
/** Ended pods leave the cluster some seconds after their server ended them. */
const goneMs = 60_000

interface Item {
  metadata: { name: string; uid: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  status?: { phase?: string }
}

export interface Pod {
  name: string
  uid: string
  sandboxId: string
}

/** The cluster as harms see it. */
export class TorturedCluster {
  readonly cluster: TestCluster

  constructor(cluster: TestCluster) {
    this.cluster = cluster
  }

  async list(kind: 'pods' | 'sandboxclaims' | 'sandboxwarmpools' | 'sandboxes'): Promise<Item[]> {
    const groups = {
      pods: '/api/v1',
      sandboxes: '/apis/agents.x-k8s.io/v1beta1',
      sandboxclaims: `/apis/${claimsGroup}/v1beta1`,
      sandboxwarmpools: `/apis/${claimsGroup}/v1beta1`,
    }
    const path = `${groups[kind]}/namespaces/${namespace}/${kind}`
    return (await this.#ask<{ items: Item[] }>('GET', path)).items
  }

  /** Again while the API server starts. */
  #ask<Body>(method: string, path: string): Promise<Body> {
    return until(`the cluster to answer ${method} ${path}`, async () => {
      const reply = await this.cluster.api(method, path).catch(() => null)
      return reply !== null && (reply.ok || reply.status === 404) && ((await reply.json()) as Body)
    })
  }

  /** Pods with a sandbox in them; blank ones have none. */
  async pods(): Promise<Pod[]> {
    return (await this.list('pods')).flatMap(({ metadata: { name, uid, annotations }, status }) => {
      const sandboxId = annotations?.['svc.sandbox']
      return sandboxId === undefined || status?.phase !== 'Running' ? [] : [{ name, uid, sandboxId }]
    })
  }

  async deletePod({ name }: Pod): Promise<void> {
    await this.#ask('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`)
  }

  /** The processes of the cluster itself with this in their command. */
  parts(command: RegExp): Process[] {
    const network = readlinkSync(`/proc/${this.cluster.pid}/ns/net`)
    return processes().filter((each) => command.test(each.command) && networkOf(each.pid) === network)
  }
}

export async function clusterSandboxes({
  dir,
  program,
  network,
}: {
  dir: string
  program: string
  network: Network
}): Promise<Sandboxes> {
  const cluster = await startOwnCluster({ agents: true, addresses: [clusterAddress] })
  if (typeof cluster === 'string') throw new Error(cluster)
  const files = join(dir, 'kubernetes')
  await mkdir(files)
  await cluster.importImage(await writeSandboxImage(files, image, program), image)
  await makeNamespace(cluster, namespace)
  const kubeconfigs = await writeKubeconfigs(
    cluster,
    files,
    await network.reachCluster(join(cluster.folder, 'api.sock')),
  )
  const tortured = new TorturedCluster(cluster)
  return {
    harms: clusterHarms(tortured),
    settingsOf: (n) => ({
      SVC_SANDBOX_DRIVER: 'kubernetes',
      KUBECONFIG: kubeconfigs[n]!,
      SVC_KUBERNETES_IMAGE: image,
      SVC_KUBERNETES_NAMESPACE: namespace,
      SVC_SANDBOX_MEMORY_MAX: '1GiB',
      SVC_SANDBOX_DISK_MAX: '256MiB',
    }),
    kill: ({ random }, kind) => kill(tortured, kind, random),
    // The server that takes over ends them: they are on the machines of the cluster.
    endWithMachine: async () => {},
    processes: async () => processesOf(await tortured.pods()),
    strays: (fleet) => strays(tortured, fleet),
    leftovers: () => leftovers(tortured),
    close: () => cluster.close(),
  }
}

/** The last server may not claim pods, so it starts one for each sandbox. */
async function writeKubeconfigs(cluster: TestCluster, dir: string, addresses: string[]): Promise<string[]> {
  const ca = readFileSync(join(cluster.folder, 'pki/ca.crt'), 'utf8')
  const paths: string[] = []
  for (const [n, address] of addresses.entries()) {
    const hasClaims = n < addresses.length - 1
    const token = await makeAccount(cluster, { namespace, name: `svc-${n}`, isInside: false, hasClaims })
    const path = join(dir, `kubeconfig-${n}`)
    await writeFile(path, kubeconfig(`https://${address}`, ca, token), { mode: 0o600 })
    paths.push(path)
  }
  return paths
}

async function kill(tortured: TorturedCluster, kind: string, random: () => number): Promise<Victim | null> {
  const pods = await tortured.pods()
  const pod = pods[Math.floor(random() * pods.length)]
  if (pod === undefined) return null
  const victim = processesOf([pod]).find(({ command }) => victimKinds[kind]!.test(command))
  return victim === undefined || !killOf(victim) ? null : { ...victim, sandboxId: pod.sandboxId }
}

/** The kubelet names the control groups of a pod by its uid. */
function processesOf(pods: Pod[]): Process[] {
  return processes().filter(({ pid }) => {
    const groups = procFile(pid, 'cgroup')
    return pods.some(({ uid }) => groups.includes(`pod${uid}`))
  })
}

function networkOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    // It ended meanwhile.
    return ''
  }
}

async function strays(tortured: TorturedCluster, { database }: Fleet): Promise<string[]> {
  // Pods first: a sandbox that begins meanwhile is in the database before its pod exists.
  const found = [
    ...(await tortured.list('sandboxclaims')).map((claim) => ({ ...claim, kind: 'claim' })),
    ...(await tortured.list('pods')).map((pod) => ({ ...pod, kind: 'pod' })),
  ]
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ sandbox_id: string }>(
      `select sandbox_id from session_sandboxes where status in ('provisioning', 'active')`,
    ),
  )
  const alive = new Set(rows.map(({ sandbox_id }) => sandbox_id))
  return found.flatMap(({ kind, metadata: { name, annotations } }) => {
    const sandboxId = annotations?.['svc.sandbox']
    return sandboxId === undefined || alive.has(sandboxId) ? [] : [`the ${kind} ${name} of an ended sandbox is left`]
  })
}

/** Pools stay for the next server, each with one blank pod. */
async function leftovers(tortured: TorturedCluster): Promise<string[]> {
  const look = async () => {
    const pools = await tortured.list('sandboxwarmpools')
    const claims = await tortured.list('sandboxclaims')
    const pods = await tortured.list('pods')
    const blank = pods.filter(({ metadata }) => metadata.labels?.['agents.x-k8s.io/warm-pool-sandbox'] !== undefined)
    const sandboxes = await tortured.list('sandboxes')
    return [
      ...claims.map(({ metadata }) => `the claim ${metadata.name} is left`),
      ...pods.filter((pod) => !blank.includes(pod)).map(({ metadata }) => `the pod ${metadata.name} is left`),
      // All sessions have the same limits, and two of the servers use pools.
      ...(pools.length > 2 ? [`there are ${pools.length} pools`] : []),
      ...(blank.length > pools.length ? [`${pools.length} pools have ${blank.length} blank pods`] : []),
      ...(sandboxes.length > pools.length ? [`${sandboxes.length} sandboxes are left of ${pools.length} pools`] : []),
    ]
  }
  let found = await look()
  for (const deadline = Date.now() + goneMs; found.length > 0 && Date.now() < deadline; found = await look())
    await delay(500)
  return found
}
