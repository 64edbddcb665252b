/** How to reach a cluster: the file that KUBECONFIG names, or the service account of the pod that this server runs in. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface ClusterAccess {
  server: string
  namespace: string
  tls: { ca?: string; cert?: string; key?: string; rejectUnauthorized?: false }
  /** Called before each request, because tokens are replaced while the server runs. */
  headers(): Promise<Record<string, string>>
  /** Whether this server is a pod of the cluster and reaches other pods by their addresses. */
  isInside: boolean
}

export interface AccessOptions {
  kubeconfig: string | null
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  service: { host: string; port: string } | null
  serviceAccountDir?: string
}

const accountDir = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Throws a sentence for the operator. */
export function readAccess(options: AccessOptions): ClusterAccess {
  if (options.kubeconfig !== null) return accessFromFile(options.kubeconfig)
  if (options.service !== null) return accessFromAccount(options.service, options.serviceAccountDir ?? accountDir)
  throw new Error('No cluster is configured: KUBECONFIG is not set, and this server does not run in a pod.')
}

function accessFromAccount({ host, port }: { host: string; port: string }, folder: string): ClusterAccess {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: read('namespace'),
    tls: { ca: read('ca.crt') },
    // The kubelet replaces the file before its token ends.
    headers: async () => ({ authorization: `Bearer ${read('token')}` }),
    isInside: true,
  }
}

interface Cluster {
  server: string
  'certificate-authority'?: string
  'certificate-authority-data'?: string
  'insecure-skip-tls-verify'?: boolean
}
interface Exec {
  apiVersion: string
  command: string
  args?: string[] | null
  env?: { name: string; value: string }[] | null
}
interface User {
  token?: string
  tokenFile?: string
  'client-certificate'?: string
  'client-certificate-data'?: string
  'client-key'?: string
  'client-key-data'?: string
  exec?: Exec
}
interface KubeConfig {
  'current-context'?: string
  contexts?: { name: string; context: { cluster: string; user: string; namespace?: string } }[]
  clusters?: { name: string; cluster: Cluster }[]
  users?: { name: string; user: User }[]
}

function accessFromFile(file: string): ClusterAccess {
  const config = Bun.YAML.parse(readFileSync(file, 'utf8')) as KubeConfig | null
  const current = config?.['current-context'] ?? ''
  const { context } = named(config?.contexts, current, `${file} has no context`)
  const { cluster } = named(config?.clusters, context.cluster, `${file} has no cluster`)
  const { user } = named(config?.users, context.user, `${file} has no user`)
  // Paths in the file are relative to it.
  const content = (data: string | undefined, path: string | undefined): string | undefined =>
    data !== undefined
      ? Buffer.from(data, 'base64').toString('utf8')
      : path !== undefined
        ? readFileSync(resolve(dirname(file), path), 'utf8')
        : undefined
  const ca = content(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = content(user['client-certificate-data'], user['client-certificate'])
  const key = content(user['client-key-data'], user['client-key'])
  const credential = user.exec === undefined ? null : execCredential(user.exec, dirname(file))
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: context.namespace ?? 'default',
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false as const } : {}),
    },
    async headers(): Promise<Record<string, string>> {
      const token =
        user.tokenFile !== undefined
          ? readFileSync(resolve(dirname(file), user.tokenFile), 'utf8').trim()
          : (user.token ?? (await credential?.()))
      return token === undefined ? {} : { authorization: `Bearer ${token}` }
    },
    isInside: false,
  }
}

function named<Entry extends { name: string }>(entries: Entry[] | undefined, name: string, lacks: string): Entry {
  const found = entries?.find((entry) => entry.name === name)
  if (found === undefined) throw new Error(`${lacks} called ${JSON.stringify(name)}.`)
  return found
}

/** Runs the program that a cloud provider names in the file, again when its token ends. */
function execCredential(exec: Exec, cwd: string): () => Promise<string | undefined> {
  let token: string | undefined
  let endsAt = 0
  return async () => {
    if (token !== undefined && Date.now() < endsAt - 60_000) return token
    const asked = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } }
    const given = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]))
    const { stdout } = await run(exec.command, exec.args ?? [], {
      cwd,
      // The programs of providers need the home and the path of the operator.
      env: { ...process.env, ...given, KUBERNETES_EXEC_INFO: JSON.stringify(asked) },
      timeout: 60_000,
    })
    const { status } = JSON.parse(stdout) as { status?: { token?: string; expirationTimestamp?: string } }
    token = status?.token
    endsAt = status?.expirationTimestamp === undefined ? Date.now() + 600_000 : Date.parse(status.expirationTimestamp)
    return token
  }
}
