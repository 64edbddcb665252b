/** Removes what a server that is gone for good has in the cluster: no other one adopts it, and its pools would run for ever. */
import { poolsOf } from './claims.ts'
import { type Cluster, mayClaim } from './cluster.ts'
import type { Pod } from './pod.ts'

/** `path` is that of the pods, and `labels` those of the server. */
export async function endOwned(
  { client, namespace }: Cluster,
  path: string,
  labels: Record<string, string>,
): Promise<void> {
  // A server that makes none may end those of another one.
  if (await mayClaim(client, namespace, 'delete')) {
    const pools = poolsOf(client, namespace, '', labels)
    for (const { metadata } of await pools.claims()) await pools.release(metadata.name)
    await pools.removeAll()
  }
  const selector = Object.entries(labels).map((pair) => pair.join('='))
  const { items } = await client.json<{ items: Pod[] }>(
    'GET',
    `${path}?labelSelector=${encodeURIComponent(selector.join(','))}`,
  )
  for (const { metadata } of items) await client.remove(`${path}/${metadata.name}`)
}
