/** Runs sandboxes as pods of a Kubernetes cluster, on machines of which this server sees only the API. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { type Link, serverIdentity } from '@svc/link'

import { type ProbeOutcome, type SandboxDriver, SandboxError, type SandboxLimits, type SandboxSpec } from '../driver.ts'
import { type Finding, missing } from '../finding.ts'
import { memorySentence } from '../layout.ts'
import { createLifecycle, type Entry, socketIn, type StartOptions } from '../lifecycle.ts'
import { plainLines } from '../output-tail.ts'
import { aborted, noIsolation } from '../spec.ts'
import type { AccessOptions } from './access.ts'
import { poolsOf } from './claims.ts'
import { type Cluster, openCluster, ProblemError, testCluster, warningsOf } from './cluster.ts'
import { type Early, earlyBoots } from './early.ts'
import { endOwned } from './end-owned.ts'
import { examineCluster } from './examine.ts'
import { bootMessage } from './identity.ts'
import { adoptLate } from './late.ts'
import { linksOf } from './links.ts'
import {
  annotations,
  containerName,
  hopeless,
  howEnded,
  isBlank,
  labels,
  type Pod,
  type PodSettings,
  podSpec,
  whyPending,
} from './pod.ts'
import { followPods } from './pods.ts'
import { roleLabel, sandboxRole, type Walls } from './walls.ts'

export interface KubernetesOptions {
  /** A folder of the server, mode 0700, for the sockets of its sandboxes. */
  stateDir: string
  access: AccessOptions
  /** Null: the namespace of the access. */
  namespace: string | null
  /** Null: sandboxes cannot start. */
  image: string | null
  projectImages: readonly string[]
  imagePullSecrets: readonly string[]
  runtimeClass: string | null
  nodeSelector: Record<string, string>
  workspaceStorageClass: string | null
  /** Names this server. Only its pods are adopted, and ended when nothing needs them. */
  owner: string
  /** 32 secret bytes that stay the same over restarts. They prove to the sandboxes who their server is. */
  seed: Buffer
  log: (message: string, facts?: Record<string, unknown>) => void
  bootMs?: number
  /** How long a sandbox goes on without a server. 0: it ends with the server, or a minute after it was killed. */
  leaseSeconds?: number
}

interface Own {
  /** Null until the cluster has one for this sandbox. */
  pod: string | null
  claim: string | null
  /** While the claim waits for a pod of it. */
  pool: string | null
  link: Link | null
  /** The last that the sandbox said of itself. */
  memoryKills: number
}
type Live = Entry & Own

interface Taking {
  signal: AbortSignal
  throwIfStopped: () => void
  boot: (link: Link) => Promise<void>
}

/** Includes the fetch of an image by a node that has none. */
const startMs = 300_000
const bootMessageMs = 30_000
const removeMs = 30_000
const secondsWithoutLease = 60

export function createKubernetesDriver(options: KubernetesOptions): SandboxDriver {
  const runRoot = join(resolve(options.stateDir), 'pods')
  const leaseSeconds = options.leaseSeconds ?? 0
  const lease = leaseSeconds > 0 ? leaseSeconds : secondsWithoutLease
  const identity = serverIdentity(options.seed)
  const owner = hashOf(options.owner, 16)
  const prefix = `svc-${owner.slice(0, 8)}-`
  const ownLabels = { [labels.server]: owner }
  const parts = kept(open)
  const walls = kept(test)

  const lifecycle = createLifecycle<Own>({
    runRoot,
    bootMs: options.bootMs ?? 60_000,
    pollMs: 4,
    leaseSeconds: lease,
    log: options.log,
    blank: () => ({ pod: null, claim: null, pool: null, link: null, memoryKills: 0 }),
    start,
    started() {},
    leftBehind,
    watch: (entry) => void watchAdopted(entry),
    endedEarly,
    explain,
    externalId: ({ pod }) => pod ?? '',
    memoryTrouble,
    lastLines,
    remove,
    sweep,
  })

  async function open(): Promise<Parts> {
    if (options.image === null)
      throw new ProblemError(
        'SVC_KUBERNETES_IMAGE is not set: it names the image of the sandboxes.',
        'svc self-host image --output svc-image.tar',
      )
    const settings: PodSettings = { ...options, image: options.image }
    const cluster = await openCluster(options)
    const { client, namespace } = cluster
    const path = `/api/v1/namespaces/${namespace}/pods`
    const pods = followPods(
      client,
      `${path}?labelSelector=${encodeURIComponent(`${labels.server}=${owner}`)}`,
      (text) => options.log(text),
    )
    pods.onChange((pod, isGone) => void onPod(pod, isGone))
    const pools = cluster.hasClaims ? poolsOf(client, namespace, prefix, ownLabels) : null
    const links = linksOf({ cluster, path, pods, identity, image: settings.image, log: options.log })
    const early = earlyBoots({ cluster, path, pools, links, log: options.log })
    return { cluster, path, pods, pools, links, early, settings }
  }

  /** Before the first start of a sandbox. Those of an earlier server go on without it. */
  async function test(): Promise<Walls> {
    const { cluster, settings } = await parts()
    return testCluster(cluster, { settings, serverKey: identity.publicKey, labels: ownLabels })
  }

  const live = new Map<string, Live>()

  async function onPod(pod: Pod, isGone: boolean): Promise<void> {
    const entry = [...live.values()].find((one) => one.pod === pod.metadata.name)
    const isOver = isGone || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
    if (entry === undefined || !isOver || entry.ended) return
    await lifecycle.ended(entry, howEnded(isGone ? null : pod))
  }

  async function probe(): Promise<ProbeOutcome> {
    try {
      return { kind: 'ready', warnings: warningsOf(await walls()), missingLimits: [] }
    } catch (error) {
      if (error instanceof ProblemError) return { kind: 'missing', problem: error.message, install: error.install }
      return { kind: 'missing', problem: `The cluster cannot be used: ${messageOf(error)}`, install: null }
    }
  }

  /** `probe` says why it cannot be. */
  const reach = () =>
    parts().then(
      () => 'yes' as const,
      (error: unknown) => (error instanceof ProblemError ? 'refused' : 'no'),
    )
  const isReached = async () => (await reach()) === 'yes'

  async function examine(): Promise<Finding[]> {
    const probed = await probe()
    if (probed.kind === 'missing') return [missing('cluster', probed.problem, probed.install)]
    const { cluster, settings } = await parts()
    return examineCluster(cluster, { settings, walls: await walls() })
  }

  async function start(entry: Live, spec: SandboxSpec, { signal, untilAnswers }: StartOptions): Promise<void> {
    const outcome = await probe()
    if (outcome.kind === 'missing') throw noIsolation(outcome)
    const { pods, links, settings } = await parts()
    requireAllowed(spec, settings)
    await pods.start()
    links.openAhead()
    const isStopped = () => signal.aborted || entry.stopping
    const throwIfStopped = () => {
      if (isStopped()) throw aborted()
    }
    throwIfStopped()
    prepareFolder(spec.sandboxId)
    live.set(spec.sandboxId, entry)
    const boot = async (link: Link) => {
      await link.serve({
        socketPath: socketIn(runRoot, spec.sandboxId),
        relaySocket: spec.relaySocket,
        egressSocket: spec.egressSocket ?? null,
      })
      throwIfStopped()
      await link.boot(bootMessage(spec, { lease, walls: await walls() }), bootMessageMs)
      await untilAnswers()
    }
    const { pod, booted } = await take(entry, spec, { signal, throwIfStopped, boot })
    throwIfStopped()
    entry.link = await (entry.claim === null ? links.to(pod, signal) : links.toBlank(pod, signal))
    // `remove` did not see it.
    if (isStopped()) await entry.link.close()
    throwIfStopped()
    await (booted ?? boot(entry.link))
  }

  /** `booted`: null when the boot has not begun. */
  async function take(entry: Live, spec: SandboxSpec, { signal, throwIfStopped, boot }: Taking) {
    let early: Early | null = null
    let pod: Pod | null = null
    try {
      const { pool, ask } = await request(entry, spec)
      early = pool === null ? null : await (await parts()).early.begin(pool, boot)
      throwIfStopped()
      await ask()
      throwIfStopped()
      pod = await running(entry, spec.sandboxId, signal)
      return { pod, booted: early?.bootOf(pod) ?? null }
    } finally {
      await early?.end(pod)
      if (entry.pool !== null) void leavePool(entry.pool)
      entry.pool = null
    }
  }

  async function leavePool(pool: string): Promise<void> {
    try {
      await (await parts()).pools?.left(pool)
    } catch (error) {
      options.log('a pool of pods was not removed', { pool, error: messageOf(error) })
    }
  }

  function prepareFolder(sandboxId: string): void {
    mkdirSync(runRoot, { recursive: true, mode: 0o700 })
    mkdirSync(join(runRoot, sandboxId), { mode: 0o700 })
  }

  /** `ask` asks the cluster for a pod. `pool` gives it; null where the cluster has no pools. */
  async function request(entry: Live, spec: SandboxSpec): Promise<{ pool: string | null; ask(): Promise<unknown> }> {
    const { cluster, path, pools, settings } = await parts()
    const name = `${prefix}${hashOf(spec.sandboxId, 12)}-${randomBytes(3).toString('hex')}`
    const metadata = {
      labels: { ...ownLabels, [labels.sandbox]: hashOf(spec.sandboxId, 40) },
      annotations: {
        [annotations.sandbox]: spec.sandboxId,
        [annotations.limits]: JSON.stringify(spec.limits),
        ...(spec.relaySocket === null ? {} : { [annotations.relay]: resolve(spec.relaySocket) }),
        ...(spec.egressSocket ? { [annotations.egress]: resolve(spec.egressSocket) } : {}),
      },
    }
    const podLabels = { ...ownLabels, [roleLabel]: sandboxRole }
    const image = namedImage(spec)
    const serverKey = identity.publicKey
    if (pools !== null) {
      const pool = await pools.ensure(podSpec(spec.limits, { settings, image, serverKey, blankSeconds: 0 }), podLabels)
      entry.pool = pool
      const ask = () => {
        entry.claim = name
        return pools.claim(name, pool, metadata)
      }
      return { pool, ask }
    }
    const body = {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { ...metadata, name, labels: { ...metadata.labels, ...podLabels } },
      spec: podSpec(spec.limits, { settings, image, serverKey, blankSeconds: lease }),
    }
    const ask = () => {
      entry.pod = name
      return cluster.client.json('POST', path, { body })
    }
    return { pool: null, ask }
  }

  /** The pod of the sandbox, once it runs. */
  async function running(entry: Live, sandboxId: string, signal: AbortSignal): Promise<Pod> {
    const { pods, pools } = await parts()
    const label = hashOf(sandboxId, 40)
    const ours = () =>
      [...pods.pods.values()].find(
        ({ metadata }) =>
          metadata.labels?.[labels.sandbox] === label &&
          metadata.deletionTimestamp === undefined &&
          (entry.claim !== null || metadata.name === entry.pod),
      )
    return pods.until(
      () => {
        if (entry.stopping) throw aborted()
        const pod = ours()
        if (pod === undefined) return undefined
        entry.pod = pod.metadata.name
        const problem = hopeless(pod)
        if (problem !== null) throw new SandboxError('boot-failed', `The pod did not start: ${problem}`)
        return pod.status?.phase === 'Running' && pod.status.podIP ? pod : undefined
      },
      signal,
      async () => {
        const pod = ours()
        const claim = pod === undefined && entry.claim !== null ? await pools?.whyPending(entry.claim) : null
        const why = pod === undefined ? `the cluster gave the claim no pod: ${claim}` : whyPending(pod)
        return new SandboxError('boot-failed', `The pod did not start in ${startMs / 1000} s: ${why}`)
      },
      startMs,
    )
  }

  async function memoryTrouble(entry: Live): Promise<string | null> {
    const status = await entry.link?.status().catch(isGone)
    entry.memoryKills = Math.max(entry.memoryKills, status?.memoryKills ?? 0)
    return entry.memoryKills > 0 ? memorySentence(entry.spec.limits) : null
  }

  async function lastLines({ pod }: Live): Promise<string> {
    if (pod === null) return ''
    const { cluster, path } = await parts()
    const reply = await cluster.client.request('GET', `${path}/${pod}/log?container=${containerName}&tailLines=5`, {
      // A pod that was deleted took its log along.
      accept: [400, 404],
    })
    const text = await reply.text()
    return reply.ok ? plainLines(text.replace(/^svc-link .*\n/m, '')) : ''
  }

  async function endedEarly(entry: Live): Promise<Error> {
    const { pods } = await parts()
    const pod = pods.pods.get(entry.pod ?? '') ?? null
    return new SandboxError('boot-failed', `The sandbox ended ${howEnded(pod)}. ${await lastLines(entry)}`.trim())
  }

  async function remove(entry: Live): Promise<void> {
    const { sandboxId } = entry.spec
    await entry.link?.close()
    // A start that waits for the pod learns that it is stopped.
    if (parts.hasBegun()) (await parts()).pods.wake()
    if (entry.pod !== null || entry.claim !== null) {
      const { cluster, path, pods, pools } = await parts()
      if (entry.claim !== null) await pools?.release(entry.claim)
      if (entry.pod !== null) await cluster.client.remove(`${path}/${entry.pod}`)
      const label = hashOf(sandboxId, 40)
      const left = () => [...pods.pods.values()].some(({ metadata }) => metadata.labels?.[labels.sandbox] === label)
      // A node that is away keeps its pods for as long: the cluster ends them when it is back.
      const late = async () => new Error('The pod of a sandbox is still there.')
      await pods
        .until(() => (left() ? undefined : true), new AbortController().signal, late, removeMs)
        .catch((error: unknown) => options.log(messageOf(error), { sandbox_id: sandboxId, pod: entry.pod ?? '' }))
    }
    live.delete(sandboxId)
    await lifecycle.removeFolder(sandboxId)
  }

  async function leftBehind() {
    if (leaseSeconds === 0 || !(await isReached())) return []
    const { pods, pools } = await parts()
    await pods.start()
    const claims = new Map(
      ((await pools?.claims()) ?? []).map(({ metadata }) => [metadata.labels?.[labels.sandbox] ?? '', metadata.name]),
    )
    const adopted = await Promise.all(
      [...pods.pods.values()].map(async (pod) => {
        // A late adoption finds those that this server made.
        if (live.has(pod.metadata.annotations?.[annotations.sandbox] ?? '')) return []
        try {
          const found = await leftPod(pod)
          if (found === null) return []
          const claim = claims.get(pod.metadata.labels?.[labels.sandbox] ?? '') ?? null
          return [{ ...found, own: { ...found.own, claim } }]
        } catch (error) {
          // The sweep ends it. One pod out of order must not keep the server from starting.
          options.log('a pod cannot be adopted', { pod: pod.metadata.name, error: messageOf(error) })
          return []
        }
      }),
    )
    return adopted.flat()
  }

  /** Null for a pod that is no sandbox, that ends, or whose server was killed before it gave the pod an identity. */
  async function leftPod(pod: Pod) {
    const { annotations: given = {}, name, deletionTimestamp } = pod.metadata
    const sandboxId = given[annotations.sandbox]
    const limits = given[annotations.limits]
    if (sandboxId === undefined || limits === undefined) return null
    if (pod.status?.phase !== 'Running' || deletionTimestamp !== undefined) return null
    mkdirSync(join(runRoot, sandboxId), { recursive: true, mode: 0o700 })
    const link = await (await parts()).links.to(pod, new AbortController().signal)
    let isBooted = false
    try {
      await link.serve({
        socketPath: socketIn(runRoot, sandboxId),
        relaySocket: given[annotations.relay] ?? null,
        egressSocket: given[annotations.egress] ?? null,
      })
      isBooted = (await link.status().catch(isGone))?.isBooted !== false
    } finally {
      if (!isBooted) await link.close()
    }
    if (!isBooted) return null
    return {
      sandboxId,
      limits: JSON.parse(limits) as SandboxLimits,
      own: { pod: name, pool: null, link, memoryKills: 0 },
    }
  }

  /** Its pod may have ended before this server watched it. */
  async function watchAdopted(entry: Live): Promise<void> {
    live.set(entry.spec.sandboxId, entry)
    const { pods } = await parts()
    const pod = pods.pods.get(entry.pod ?? '')
    if (pod === undefined) await lifecycle.ended(entry, howEnded(null))
    else await onPod(pod, false)
  }

  async function sweep(isLive: (sandboxId: string) => boolean): Promise<void> {
    if (!(await isReached())) return
    const { cluster, path, pods, pools, settings } = await parts()
    await pods.start()
    const isLeft = ({ metadata }: Pick<Pod, 'metadata'>) => !isLive(metadata.annotations?.[annotations.sandbox] ?? '')
    for (const claim of (await pools?.claims()) ?? []) if (isLeft(claim)) await pools?.release(claim.metadata.name)
    for (const pod of pods.pods.values())
      if (!isBlank(pod) && isLeft(pod)) await cluster.client.remove(`${path}/${pod.metadata.name}`)
    await pools?.sweep(settings)
  }

  async function endOf(lost: string): Promise<void> {
    const { cluster, path } = await parts()
    await endOwned(cluster, path, { [labels.server]: hashOf(lost, 16) })
  }

  const late = adoptLate(lifecycle, { reach, leaseMs: leaseSeconds * 1000, log: options.log })
  return {
    ...lifecycle,
    ...late,
    outlives: leaseSeconds > 0,
    isElsewhere: true,
    name: 'kubernetes',
    probe,
    examine,
    endOf,
  }
}

const namedImage = ({ image }: SandboxSpec): string | null => (image?.kind === 'named' ? image.reference : null)

/** An image of a project runs as root in its pod, and the registry may have images that are not for everyone. */
function requireAllowed(spec: SandboxSpec, { projectImages }: PodSettings): void {
  const name = namedImage(spec)
  if (name === null || projectImages.some((allowed) => fits(name, allowed))) return
  throw new SandboxError('boot-failed', `svc.toml names the image ${name}, which the operator does not allow.`, {
    hint: 'Remove [sandbox] image, or ask the operator to add it to SVC_KUBERNETES_PROJECT_IMAGES.',
  })
}

function fits(name: string, allowed: string): boolean {
  return allowed.endsWith('*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed
}

/** Found out once. A failure is tried again. */
function kept<Result>(find: () => Promise<Result>) {
  let found: Promise<Result> | null = null
  const get = () => {
    found ??= find().catch((error: unknown) => {
      found = null
      throw error
    })
    return found
  }
  return Object.assign(get, { hasBegun: () => found !== null })
}

interface Parts {
  cluster: Cluster
  /** The path of the pods in the API. */
  path: string
  pods: ReturnType<typeof followPods>
  pools: ReturnType<typeof poolsOf> | null
  links: ReturnType<typeof linksOf>
  early: ReturnType<typeof earlyBoots>
  settings: PodSettings
}

const hashOf = (text: string, length: number) => createHash('sha256').update(text).digest('hex').slice(0, length)

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** The sandbox has ended, or its link is down; what it said before counts. */
function isGone(): undefined {}

function explain(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error
  return new SandboxError('boot-failed', `The sandbox did not start: ${messageOf(error)}`, { cause: error })
}
