/**
 * Links to pods. The cluster takes longer to show the key of a pod and to reach it than to give the pod to a claim, so
 * the link to a blank pod of a pool stands before a sandbox claims the pod.
 */
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

import { type Link, openLink, type ServerIdentity } from '@svc/link'

import { SandboxError } from '../driver.ts'
import { linkPort } from '../layout.ts'
import type { Cluster } from './cluster.ts'
import { annotations, containerName, isBlank, type Pod } from './pod.ts'
import type { followPods } from './pods.ts'

interface LinksOptions {
  cluster: Cluster
  /** The path of the pods in the API. */
  path: string
  pods: ReturnType<typeof followPods>
  identity: ServerIdentity
  image: string
  log: (message: string, facts?: Record<string, unknown>) => void
}

interface Ahead {
  ending: AbortController
  /** Null when it could not be opened, which is logged. */
  link: Promise<Link | 'booted' | null>
  /** Once it stands. */
  standing: Link | null
}

const keyMs = 60_000
const keyLookMs = 40
const dialMs = 10_000

export function linksOf({ cluster, path, pods, identity, image, log }: LinksOptions) {
  /** By the uid of the pod: the key of another pod with its name is another one. */
  const ahead = new Map<string, Ahead>()
  let isAhead = false

  async function open({ metadata: { name }, status }: Pod, signal: AbortSignal): Promise<Link> {
    return openLink({
      identity,
      sandboxKey: await keyOf(name, signal),
      dial: (closing) =>
        cluster.isInside
          ? dialPod(status!.podIP!, closing)
          : cluster.client.portForward(cluster.namespace, name, linkPort),
      lost(error) {
        const sandboxId = pods.pods.get(name)?.metadata.annotations?.[annotations.sandbox]
        log('the link to a sandbox was lost', { pod: name, sandbox_id: sandboxId, reason: error.message })
      },
    })
  }

  /**
   * A pod that was booted for a claim is nobody's when its server was killed before the cluster had the claim, or when
   * the claim got another one.
   */
  async function openBlank(pod: Pod, signal: AbortSignal): Promise<Link | 'booted'> {
    const link = await open(pod, signal)
    const status = await link.status().catch(async (error: unknown) => {
      await link.close()
      throw error
    })
    if (!status.isBooted) return link
    await link.close()
    await cluster.client.remove(`${path}/${pod.metadata.name}`)
    log('a pod that was booted for no sandbox was removed', { pod: pod.metadata.name })
    return 'booted'
  }

  /** PID 1 prints it first. */
  async function keyOf(pod: string, signal: AbortSignal): Promise<string> {
    const deadline = Date.now() + keyMs
    for (;;) {
      signal.throwIfAborted()
      const reply = await cluster.client.request(
        'GET',
        `${path}/${pod}/log?container=${containerName}&limitBytes=4096`,
        // The container is not there yet, or its log is not, or its node does not answer.
        { accept: [400, 404, 500] },
      )
      const text = await reply.text()
      const key = reply.ok ? /^svc-link ([\w-]{43})$/m.exec(text)?.[1] : undefined
      if (key !== undefined) return key
      if (Date.now() > deadline)
        throw new SandboxError('boot-failed', `The pod did not say its key: is ${image} an image of svc?`)
      await new Promise((again) => setTimeout(again, keyLookMs))
    }
  }

  function onPod(pod: Pod, isGone: boolean): void {
    const uid = pod.metadata.uid!
    if (isGone || pod.metadata.deletionTimestamp !== undefined || pod.status?.phase !== 'Running') return drop(uid)
    if (!isAhead || !isBlank(pod) || !pod.status.podIP || ahead.has(uid)) return
    const ending = new AbortController()
    const link = openBlank(pod, ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted)
        log('a blank pod cannot be reached yet', { pod: pod.metadata.name, error: String(error) })
      return null
    })
    const one: Ahead = { ending, link, standing: null }
    ahead.set(uid, one)
    void link.then((opened) => (one.standing = opened === 'booted' ? null : opened))
  }

  function drop(uid: string): void {
    const one = ahead.get(uid)
    ahead.delete(uid)
    one?.ending.abort()
    void one?.link.then((link) => (link === 'booted' ? null : link?.close()))
  }

  pods.onChange(onPod)

  return {
    /** Opens links to blank pods from now on. Only a server does that: a pod has one link, and takes the latest. */
    openAhead(): void {
      if (isAhead) return
      isAhead = true
      for (const pod of pods.pods.values()) onPod(pod, false)
    },
    /** The blank pod of the pool, if there is one, and its link stands. It stays here until `toBlank` or its end. */
    onlyBlank(pool: string): { pod: Pod; link: Link } | null {
      const [pod, ...others] = [...pods.pods.values()].filter(
        (each) =>
          isBlank(each) && each.metadata.name.startsWith(`${pool}-`) && each.metadata.deletionTimestamp === undefined,
      )
      const link = ahead.get(pod?.metadata.uid ?? '')?.standing ?? null
      return pod === undefined || link === null || others.length > 0 ? null : { pod, link }
    },
    /** The link to a running pod that is booted next. It belongs to the caller, who closes it. */
    async toBlank(pod: Pod, signal: AbortSignal): Promise<Link> {
      const uid = pod.metadata.uid!
      const one = ahead.get(uid)
      ahead.delete(uid)
      const link = (await one?.link) ?? (await openBlank(pod, signal))
      if (link === 'booted')
        throw new SandboxError(
          'boot-failed',
          'The cluster gave a pod that was booted for another sandbox. It was removed.',
        )
      return link
    },
    /** The link to the pod of a sandbox that goes on. */
    to: open,
  }
}

function dialPod(host: string, signal: AbortSignal): Promise<Duplex> {
  return new Promise((done, reject) => {
    const socket = connect({ host, port: linkPort, noDelay: true, keepAlive: true })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(() => fail(new Error(`${host} does not answer.`)), dialMs)
    const stop = () => fail(new Error('The link is closed.'))
    signal.addEventListener('abort', stop)
    socket.once('error', fail)
    socket.once('close', () => signal.removeEventListener('abort', stop))
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      done(socket)
    })
  })
}
