/**
 * Sandboxes from pools of blank pods, where the cluster has the resources of kubernetes-sigs/agent-sandbox: a claim
 * takes a pod that already runs. A pool belongs to one specification, since a pod's limits cannot change.
 */
import type { ApiObject, Client } from './client.ts'
import { isStoredAs, type Placement, placement, type PodSettings, type Storage } from './pod.ts'

const group = 'extensions.agents.x-k8s.io'
const version = `${group}/v1beta1`
/** Each keeps one blank pod. Sessions of one installation rarely have more than a few kinds of limits. */
const poolsMax = 3

interface Images {
  containers: { image: string }[]
  initContainers?: { image: string }[]
}

interface Template extends ApiObject {
  spec: { podTemplate: { spec: Placement & Storage & Images } }
}

interface Claim extends ApiObject {
  status?: { conditions?: { message: string }[] }
}

export const claimsApi = `/apis/${version}`

/** A pool that is left keeps one blank pod, and the next sweep removes it. Its caller has the error. */
function keepsPods(): void {}

export function poolsOf(client: Client, namespace: string, prefix: string, labels: Record<string, string>) {
  const at = (kind: string) => `${claimsApi}/namespaces/${namespace}/${kind}`
  const selector = `labelSelector=${encodeURIComponent(
    Object.entries(labels)
      .map((pair) => pair.join('='))
      .join(','),
  )}`
  /** By use, the last one at the end. */
  const pools = new Map<string, Promise<void>>()
  /** The starts that wait for a pod of each. A claim of a pool that is removed gets none. */
  const waiting = new Map<string, number>()
  const removing = new Map<string, Promise<void>>()

  const apply = (kind: string, name: string, body: unknown) =>
    client.json('PATCH', `${at(kind)}/${name}?fieldManager=svc&force=true`, {
      body,
      type: 'application/apply-patch+yaml',
    })

  async function make(name: string, spec: Record<string, unknown>, podLabels: Record<string, string>): Promise<void> {
    const metadata = { name, labels }
    await apply('sandboxtemplates', name, {
      ...{ apiVersion: version, kind: 'SandboxTemplate', metadata },
      // The driver has a policy of its own, which it tests.
      spec: { networkPolicyManagement: 'Unmanaged', podTemplate: { metadata: { labels: podLabels }, spec } },
    })
    await apply('sandboxwarmpools', name, {
      ...{ apiVersion: version, kind: 'SandboxWarmPool', metadata },
      spec: { replicas: 1, sandboxTemplateRef: { name } },
    })
  }

  const templates = async () =>
    (await client.json<{ items: Template[] }>('GET', `${at('sandboxtemplates')}?${selector}`)).items

  async function remove(name: string): Promise<void> {
    await client.remove(`${at('sandboxwarmpools')}/${name}`)
    await client.remove(`${at('sandboxtemplates')}/${name}`)
  }

  async function removeOldest(): Promise<void> {
    const oldest = [...pools.keys()].find((name) => !waiting.has(name))
    if (pools.size <= poolsMax || oldest === undefined) return
    pools.delete(oldest)
    const removal = remove(oldest)
    removing.set(oldest, removal.catch(keepsPods))
    await removal.finally(() => removing.delete(oldest))
  }

  return {
    /** The pool of that specification, for a start that then calls `left`. */
    async ensure(spec: Record<string, unknown>, podLabels: Record<string, string>): Promise<string> {
      const name = `${prefix}${Bun.hash(JSON.stringify([spec, podLabels]))
        .toString(16)
        .padStart(16, '0')}`
      const gone = removing.get(name) ?? Promise.resolve()
      const made = pools.get(name) ?? gone.then(() => make(name, spec, podLabels))
      pools.delete(name)
      pools.set(name, made)
      try {
        await made
      } catch (error) {
        pools.delete(name)
        throw error
      }
      waiting.set(name, (waiting.get(name) ?? 0) + 1)
      return name
    },
    /** Whether a single start waits for a pod of the pool. */
    isAlone: (name: string) => waiting.get(name) === 1,
    /** A start waits for a pod of the pool no longer. */
    async left(name: string): Promise<void> {
      const left = (waiting.get(name) ?? 1) - 1
      if (left > 0) waiting.set(name, left)
      else waiting.delete(name)
      await removeOldest()
    },
    async claim(
      name: string,
      pool: string,
      metadata: { labels: Record<string, string>; annotations: Record<string, string> },
    ) {
      await client.json('POST', at('sandboxclaims'), {
        body: {
          ...{ apiVersion: version, kind: 'SandboxClaim', metadata: { name, ...metadata } },
          spec: {
            warmPoolRef: { name: pool },
            additionalPodMetadata: metadata,
            lifecycle: { shutdownPolicy: 'Delete' },
          },
        },
      })
    },
    /** The cluster's message about a claim. */
    async whyPending(name: string): Promise<string> {
      const claim = await client.find<Claim>(`${at('sandboxclaims')}/${name}`)
      return claim?.status?.conditions?.map(({ message }) => message).join(' ') || 'it says nothing'
    },
    release: (name: string) => client.remove(`${at('sandboxclaims')}/${name}`),
    claims: async () => (await client.json<{ items: ApiObject[] }>('GET', `${at('sandboxclaims')}?${selector}`)).items,
    /**
     * Removes the pools of an earlier server with another image, placement or storage: no start claims their pods any
     * more. Of the others, the newest stay: each change of limits leaves pools that nothing may claim again.
     */
    async sweep(settings: PodSettings): Promise<void> {
      const left: ApiObject['metadata'][] = []
      for (const { metadata, spec } of await templates()) {
        const { containers, initContainers = containers } = spec.podTemplate.spec
        const { imagePullSecrets, runtimeClassName, nodeSelector } = spec.podTemplate.spec
        const isPlaced = Bun.deepEquals({ imagePullSecrets, runtimeClassName, nodeSelector }, placement(settings))
        const isStored = isStoredAs(spec.podTemplate.spec, settings)
        if (initContainers[0]?.image !== settings.image || !isPlaced || !isStored) await remove(metadata.name)
        else if (!pools.has(metadata.name)) left.push(metadata)
      }
      const ages = left.toSorted((a, b) => (b.creationTimestamp ?? '').localeCompare(a.creationTimestamp ?? ''))
      // A start may have taken one meanwhile.
      for (const { name } of ages.slice(poolsMax)) if (!pools.has(name)) await remove(name)
    },
    async removeAll(): Promise<void> {
      for (const { metadata } of await templates()) await remove(metadata.name)
    },
  }
}
