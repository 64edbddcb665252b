/**
 * Gives a blank pod its identity while the cluster works on the claim that takes it. A pool with one blank pod gives that
 * one, as long as nobody else waits for a pod of it. Once it is taken, the cluster starts the next one, and all that the
 * sandbox still has to do takes longer beside that.
 */
import type { Link } from '@svc/link'

import type { poolsOf } from './claims.ts'
import type { Cluster } from './cluster.ts'
import type { linksOf } from './links.ts'
import type { Pod } from './pod.ts'

interface EarlyOptions {
  cluster: Cluster
  /** The path of the pods in the API. */
  path: string
  pools: ReturnType<typeof poolsOf> | null
  links: ReturnType<typeof linksOf>
  log: (message: string, facts?: Record<string, unknown>) => void
}

export interface Early {
  /** Null: the claim got another pod. */
  bootOf(got: Pod): Promise<void> | null
  /** A pod that was booted for a claim that did not get it is removed. Null: it got none. */
  end(got: Pod | null): Promise<void>
}

/** The start that gets the pod reports the error. */
function knownLater(): void {}

export function earlyBoots({ cluster, path, pools, links, log }: EarlyOptions) {
  /** By the name of the pool. */
  const open = new Map<string, Promise<void>>()

  async function remove({ metadata: { name } }: Pod, link: Link): Promise<void> {
    await link.close()
    // Its link is closed, so that no start can use it either way.
    await cluster.client
      .remove(`${path}/${name}`)
      .catch((error: unknown) => log('a pod was not removed', { pod: name, error: String(error) }))
  }

  return {
    /** Null: it is not certain which pod a claim of the pool gets. */
    async begin(pool: string, boot: (link: Link) => Promise<void>): Promise<Early | null> {
      while (open.has(pool)) await open.get(pool)
      const found = pools?.isAlone(pool) === true ? links.onlyBlank(pool) : null
      if (found === null) return null
      const { pod, link } = found
      const over = Promise.withResolvers<void>()
      open.set(pool, over.promise)
      const booted = boot(link)
      booted.catch(knownLater)
      const isThis = (got: Pod | null) => got?.metadata.uid === pod.metadata.uid
      return {
        bootOf: (got) => (isThis(got) ? booted : null),
        async end(got) {
          open.delete(pool)
          over.resolve()
          if (!isThis(got)) await remove(pod, link)
        },
      }
    },
  }
}
