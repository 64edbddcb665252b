/**
 * Whether the cluster enforces the network policy of the sandboxes. A cluster accepts a policy also when its network
 * plugin ignores it, so only a pod that tries to get out can tell.
 */
import { randomBytes } from 'node:crypto'

import { linkPort } from '../layout.ts'
import { type Client, ClusterError } from './client.ts'
import { containerName, hopeless, type Pod, podSpec, whyPending, type PodSettings } from './pod.ts'

/** The policy selects this label. */
export const roleLabel = 'svc.role'
export const sandboxRole = 'sandbox'
export const policyName = 'svc-sandboxes'

/** Nothing in, nothing out. A server that is a pod dials the sandboxes, which ask it to prove itself. */
export function networkPolicy(isInside: boolean) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: policyName },
    spec: {
      podSelector: { matchLabels: { [roleLabel]: sandboxRole } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: isInside ? [{ ports: [{ protocol: 'TCP', port: linkPort }] }] : [],
      egress: [],
    },
  }
}

export async function applyNetworkPolicy(client: Client, namespace: string, isInside: boolean): Promise<void> {
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${policyName}`
  await client.json('PATCH', `${path}?fieldManager=svc&force=true`, {
    body: networkPolicy(isInside),
    type: 'application/apply-patch+yaml',
  })
}

export interface Walls {
  /** `nothing-there`: pods without the policy reach nothing either. */
  network: 'enforced' | 'open' | 'nothing-there'
  /** Whether root in a pod is another user on its node. */
  hasOwnUsers: boolean
}

interface WallsOptions {
  client: Client
  namespace: string
  settings: PodSettings
  serverKey: string
  labels: Record<string, string>
}

const limits = { memoryBytesMax: 128 * 1024 ** 2, cpuMax: 1, processesMax: 64, diskBytesMax: 16 * 1024 ** 2 }
/** Of a pod, with the fetch of its image. */
const startMs = 180_000
const runMs = 60_000
const lookMs = 150

/** Prints a line for each place that it reaches. A plugin may need a moment for a new pod, so the last look counts. */
function reachScript(target: string, looks: number): string {
  const place = (address: string, port: string) =>
    `(timeout 2 bash -c "exec 3<>/dev/tcp/${address}/${port}" 2>/dev/null && echo "${address}") &`
  return [
    `for look in $(seq ${looks}); do`,
    `reached=$(${place(target, String(linkPort))} ${place('$KUBERNETES_SERVICE_HOST', '$KUBERNETES_SERVICE_PORT')} wait)`,
    '[ -z "$reached" ] && break',
    'sleep 1',
    'done',
    'echo "reached:" $reached',
    'echo "users: $(cat /proc/self/uid_map)"',
  ].join('\n')
}

export async function testWalls(options: WallsOptions): Promise<Walls> {
  const { client, namespace, labels } = options
  const path = `/api/v1/namespaces/${namespace}/pods`
  const name = `svc-probe-${randomBytes(4).toString('hex')}`
  const made: string[] = []
  const make = async (part: string, role: string, command: string[] | null) => {
    const pod = probePod(`${name}-${part}`, { ...labels, [roleLabel]: role }, command, options)
    await client.json('POST', path, { body: pod })
    made.push(pod.metadata.name)
    return pod.metadata.name
  }
  try {
    const target = await make('target', 'probe', null)
    const { status } = await untilPod(
      client,
      `${path}/${target}`,
      (pod) => pod.status?.podIP !== undefined && pod.status.phase === 'Running',
      startMs,
    )
    const script = (looks: number) => ['bash', '-c', reachScript(status!.podIP!, looks)]
    const output = async (pod: string) => {
      await untilPod(client, `${path}/${pod}`, ({ status: now }) => now?.phase === 'Succeeded', startMs + runMs)
      return (await client.request('GET', `${path}/${pod}/log?container=${containerName}`)).text()
    }
    const free = await make('free', 'probe', script(1))
    const walled = await make('walled', sandboxRole, script(15))
    return wallsFrom(await output(free), await output(walled))
  } finally {
    for (const pod of made) await client.remove(`${path}/${pod}?gracePeriodSeconds=0`)
  }
}

export function wallsFrom(free: string, walled: string): Walls {
  const reached = (text: string) => /^reached:(.*)$/m.exec(text)?.[1]?.trim()
  const [byFree, byWalled] = [reached(free), reached(walled)]
  if (byFree === undefined || byWalled === undefined)
    throw new Error(`The pods that test the network policy did not say what they reach: ${walled.trim().slice(-200)}`)
  return {
    network: byWalled !== '' ? 'open' : byFree === '' ? 'nothing-there' : 'enforced',
    hasOwnUsers: !/^users:\s+0\s+0\s/m.test(walled),
  }
}

function probePod(
  name: string,
  labels: Record<string, string>,
  command: string[] | null,
  { settings, serverKey }: WallsOptions,
) {
  const spec = podSpec(limits, { settings, serverKey, blankSeconds: 120 })
  const [container] = spec['containers'] as Record<string, unknown>[]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      ...spec,
      // It ends even if this server does not see its end.
      activeDeadlineSeconds: 300,
      containers: [{ ...container, ...(command === null ? {} : { command }) }],
    },
  }
}

async function untilPod(client: Client, path: string, isDone: (pod: Pod) => boolean, ms: number): Promise<Pod> {
  const deadline = Date.now() + ms
  for (;;) {
    const pod = await client.json<Pod>('GET', path)
    if (isDone(pod)) return pod
    const problem = hopeless(pod)
    if (problem !== null) throw new ClusterError(0, problem)
    if (Date.now() > deadline) throw new ClusterError(0, `A pod did not start in time: ${whyPending(pod)}`)
    await new Promise((again) => setTimeout(again, lookMs))
  }
}
