/** Finds out how to reach the cluster, what the server may do there, and how pods are isolated. */
import { type AccessOptions, readAccess } from './access.ts'
import { claimsApi } from './claims.ts'
import { type Client, ClusterError, createClient } from './client.ts'
import type { PodSettings } from './pod.ts'
import { applyNetworkPolicy, policyName, testWalls, type Walls } from './walls.ts'

export interface Cluster {
  client: Client
  namespace: string
  version: string
  server: string
  isInside: boolean
  /** Whether it has the resources of agent-sandbox, and this server may use them. */
  hasClaims: boolean
}

/** The steps an operator has to take before sandboxes can start. */
export class ProblemError extends Error {
  readonly install: string | null
  constructor(message: string, install: string | null) {
    super(message)
    this.name = 'ProblemError'
    this.install = install
  }
}

export async function openCluster(options: { access: AccessOptions; namespace: string | null }): Promise<Cluster> {
  const access = readAccess(options.access)
  const client = createClient(access)
  const namespace = options.namespace ?? access.namespace
  const { gitVersion } = await client.json<{ gitVersion: string }>('GET', '/version')
  await requireRights(client, namespace, access.isInside)
  const hasClaims = await mayClaim(client, namespace, 'create')
  return { client, namespace, hasClaims, version: gitVersion, server: access.server, isInside: access.isInside }
}

interface TestOptions {
  settings: PodSettings
  serverKey: string
  labels: Record<string, string>
}

/** Takes seconds: it starts pods. */
export async function testCluster({ client, namespace, isInside }: Cluster, options: TestOptions): Promise<Walls> {
  await applyNetworkPolicy(client, namespace, isInside)
  const walls = await testWalls({ client, namespace, ...options })
  if (walls.network === 'open')
    throw new ProblemError(
      `The cluster's network plugin ignores NetworkPolicy: a pod that may reach nothing reached another pod or the API server.`,
      'Install a network plugin that enforces NetworkPolicy, such as Cilium or Calico',
    )
  return walls
}

export function warningsOf(walls: Walls): string[] {
  return [
    ...(walls.hasOwnUsers
      ? []
      : [
          "Root in a pod is its node's root user without its privileges. For stronger isolation, set SVC_KUBERNETES_RUNTIME_CLASS to gVisor or Kata.",
        ]),
  ]
}

interface Right {
  verb: string
  group: string
  resource: string
  /** Of the one object that it is about. */
  name?: string
}

const right = (resource: string, verb: string, group = ''): Right => ({ resource, verb, group })

function neededRights(isInside: boolean): Right[] {
  return [
    ...['create', 'get', 'list', 'watch', 'delete'].map((verb) => right('pods', verb)),
    right('pods/log', 'get'),
    // A port-forward is a GET that becomes a WebSocket; newer clusters also want "create".
    ...(isInside ? [] : [right('pods/portforward', 'get'), right('pods/portforward', 'create')]),
    right('networkpolicies', 'create', 'networking.k8s.io'),
    { ...right('networkpolicies', 'patch', 'networking.k8s.io'), name: policyName },
  ]
}

async function isAllowed(client: Client, namespace: string, wanted: Right): Promise<boolean> {
  const [resource, subresource] = wanted.resource.split('/')
  const resourceAttributes = { ...wanted, namespace, resource, ...(subresource === undefined ? {} : { subresource }) }
  const { status } = await client.json<{ status: { allowed: boolean } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    { body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } } },
  )
  return status.allowed
}

async function requireRights(client: Client, namespace: string, isInside: boolean): Promise<void> {
  const rights = neededRights(isInside)
  const allowed = await Promise.all(rights.map((one) => isAllowed(client, namespace, one)))
  const lacking = rights.filter((_, index) => !allowed[index]).map(({ verb, resource }) => `${verb} ${resource}`)
  if (lacking.length === 0) return
  throw new ProblemError(
    `This server may not ${lacking.join(', ')} in the namespace ${namespace}.`,
    'Create the role on the page "Kubernetes" of the docs (/docs/operate/kubernetes on a running server) and bind it to this server',
  )
}

/** Whether the cluster has the resources of agent-sandbox, and this server may do this with all of them. */
export async function mayClaim(client: Client, namespace: string, verb: 'create' | 'delete'): Promise<boolean> {
  try {
    if ((await client.find(claimsApi)) === null) return false
  } catch (error) {
    if (error instanceof ClusterError && error.status === 403) return false
    throw error
  }
  const wanted = ['sandboxclaims', 'sandboxtemplates', 'sandboxwarmpools'].map((resource) =>
    right(resource, verb, 'extensions.agents.x-k8s.io'),
  )
  return (await Promise.all(wanted.map((one) => isAllowed(client, namespace, one)))).every(Boolean)
}
