/** Follows the pods of this server: lists them once, then watches. */
import { type Client, ClusterError } from './client.ts'
import type { Pod } from './pod.ts'

interface PodList {
  items: Pod[]
  metadata: { resourceVersion: string }
}

type Listener = (pod: Pod, isGone: boolean) => void

const againMs = 500

export function followPods(client: Client, path: string, log: (message: string) => void) {
  const pods = new Map<string, Pod>()
  const listeners = new Set<Listener>()
  const looks = new Set<() => void>()
  let started: Promise<void> | null = null
  let isFailing = false

  const emit = (pod: Pod, isGone: boolean) => {
    if (isGone) pods.delete(pod.metadata.name)
    else pods.set(pod.metadata.name, pod)
    for (const listener of [...listeners]) listener(pod, isGone)
    wake()
  }
  const wake = () => {
    for (const look of [...looks]) look()
  }

  async function list(): Promise<string> {
    const { items, metadata } = await client.json<PodList>('GET', path)
    const names = new Set(items.map((pod) => pod.metadata.name))
    for (const [name, pod] of pods) if (!names.has(name)) emit(pod, true)
    for (const pod of items) emit(pod, false)
    return metadata.resourceVersion
  }

  async function watch(from: string): Promise<void> {
    let version = from
    for (;;) {
      const pause = new Promise((again) => setTimeout(again, againMs))
      const events = client.watch<Pod>(`${path}&resourceVersion=${version}`)
      for await (const { type, object } of events) {
        version = object.metadata.resourceVersion ?? version
        emit(object, type === 'DELETED')
      }
      isFailing = false
      // A proxy may end each watch at once.
      await pause
    }
  }

  async function follow(version: string): Promise<never> {
    let from = version
    for (;;) {
      try {
        await watch(from)
      } catch (error) {
        // 410: the watch is too old, which is no failure.
        const isOld = error instanceof ClusterError && error.status === 410
        if (!isOld && !isFailing) log(`the pods cannot be watched: ${String(error)}`)
        isFailing = !isOld
      }
      await new Promise((again) => setTimeout(again, againMs))
      from = await list().catch(() => from)
    }
  }

  return {
    pods,
    /** Resolves once the pods that exist are known. */
    async start(): Promise<void> {
      started ??= list().then((version) => void follow(version))
      try {
        await started
      } catch (error) {
        started = null
        throw error
      }
    },
    onChange: (listener: Listener) => void listeners.add(listener),
    /** Looks again although no pod has changed. */
    wake,
    /** Looks now and after each change, until `look` answers something else than undefined. */
    async until<T>(look: () => T | undefined, signal: AbortSignal, late: () => Promise<Error>, ms: number): Promise<T> {
      const found = Promise.withResolvers<T>()
      const again = () => {
        try {
          const value = look()
          if (value !== undefined) found.resolve(value)
        } catch (error) {
          found.reject(error as Error)
        }
      }
      const stop = () => found.reject(signal.reason as Error)
      const timer = setTimeout(() => void late().then(found.reject, found.reject), ms)
      looks.add(again)
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
      again()
      try {
        return await found.promise
      } finally {
        clearTimeout(timer)
        looks.delete(again)
        signal.removeEventListener('abort', stop)
      }
    },
  }
}
