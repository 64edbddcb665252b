/** The chart in a cluster of its own, with a PostgreSQL and an entry as an ingress controller makes it. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { makeToken } from '@svc/contract'
import { readAccess } from '../../packages/sandbox/src/kubernetes/access.ts'
import manifest from '../../package.json' with { type: 'json' }
import { findPostgresPrograms } from '../../packages/server/src/db/embedded/programs.ts'
import { git, root, run, until } from '../e2e/harness.ts'
import { helm, startTestCluster, type TestCluster } from './cluster.ts'
import { nodeAddress } from './configs.ts'
import { writeSandboxImage } from './sandbox-image.ts'
import { makeVolumes, storageClass } from './volumes.ts'

export const image = `svc.local/svc:${manifest.version}`
export const namespace = 'svc'
export const sandboxNamespace = 'svc-sandboxes'
export const host = 'svc.test'
export const previewDomain = 'previews.test'
export const serversMax = 3
const readyMs = 300_000

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string; labels: Record<string, string> }
  spec: { containers: { image: string }[] }
  status: { podIP?: string; conditions?: { type: string; status: string }[] }
}

export class Installation {
  readonly cluster: TestCluster
  readonly folder: string
  readonly token = makeToken((count) => randomBytes(count))
  /** The address of the entry on this machine. */
  entry = ''

  private constructor(cluster: TestCluster, folder: string) {
    this.cluster = cluster
    this.folder = folder
  }

  /** Returns the reason as a sentence when there is no cluster. */
  static async start(): Promise<Installation | string> {
    const cluster = await startTestCluster({ agents: false })
    if (typeof cluster === 'string') return cluster
    if (!cluster.isOwn) return 'the chart is only installed in a cluster that the test makes'
    const made = new Installation(cluster, await mkdtemp(join(tmpdir(), 'svc-chart-')))
    await cluster.importImage(await writeSandboxImage(made.folder, image), image)
    await made.#makeNamespace()
    await makeVolumes(cluster, serversMax)
    await made.#makeDatabase()
    await made.#openEntry()
    return made
  }

  async close(): Promise<void> {
    await this.cluster.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  async make(path: string, body: unknown): Promise<void> {
    const reply = await this.cluster.api('POST', path, body)
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  }

  async read<T>(path: string): Promise<T> {
    const reply = await this.cluster.api('GET', path)
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
    return (await reply.json()) as T
  }

  /** `helm install`, or `helm upgrade`. */
  async helm(verb: 'install' | 'upgrade', values: object): Promise<string> {
    const file = join(this.folder, 'values.json')
    await writeFile(file, JSON.stringify(values))
    const args = [verb, 'svc', 'deploy/chart', '--namespace', namespace, '--values', file]
    const env = { HOME: this.folder, KUBECONFIG: this.cluster.kubeconfig, PATH: process.env['PATH'] ?? '' }
    const ran = await run([helm, ...args], { env, cwd: root })
    if (ran.code !== 0) throw new Error(ran.stderr)
    return ran.stdout
  }

  values(more: object = {}): object {
    return {
      publicUrl: `http://${host}`,
      previewDomain,
      database: { existingSecret: 'database' },
      masterKey: { existingSecret: 'master-key' },
      bootstrapToken: { existingSecret: 'token' },
      trustedProxies: [nodeAddress],
      storage: { className: storageClass, size: '1Gi' },
      // The node has two cores, of which each of twenty agents requests a twentieth.
      resources: { requests: { cpu: '150m', memory: '128Mi' } },
      sandboxes: { memoryMax: '1GiB', diskMax: '256MiB', cpuMax: '1', leaseSeconds: 600 },
      networkPolicy: {
        ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'entry' } } }],
        postgresqlLabels: { app: 'postgresql' },
      },
      ...more,
    }
  }

  async servers(): Promise<Pod[]> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app.kubernetes.io/name%3Dsvc`
    return (await this.read<{ items: Pod[] }>(path)).items
  }

  /** All servers have this image and are ready. */
  async rolledOut(wanted = image): Promise<void> {
    await until(
      `${serversMax} ready servers`,
      async () => {
        const ready = (await this.servers()).filter(
          ({ metadata, spec, status }) =>
            metadata.deletionTimestamp === undefined &&
            spec.containers[0]?.image === wanted &&
            status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
        )
        return ready.length === serversMax
      },
      readyMs,
    )
  }

  async log(pod: string, previous = false): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?previous=${previous}`
    return (await this.cluster.api('GET', path)).text()
  }

  /** `kubectl exec`: what the command writes to its output. */
  async exec(pod: string, command: string[]): Promise<string> {
    const access = readAccess({ kubeconfig: this.cluster.kubeconfig, service: null })
    const query = new URLSearchParams([...command.map((word) => ['command', word]), ['stdout', '1'], ['stderr', '1']])
    const url = `${access.server.replace('http', 'ws')}/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`
    const options = { headers: await access.headers(), protocols: ['v4.channel.k8s.io'], tls: access.tls }
    const socket = new WebSocket(url, options as unknown as string[])
    socket.binaryType = 'arraybuffer'
    let output = ''
    return new Promise((resolve, reject) => {
      // Each message begins with its channel: 1 output, 2 errors, 3 the end.
      socket.onmessage = ({ data }) => {
        const [channel, ...rest] = new Uint8Array(data as ArrayBuffer)
        const text = Buffer.from(rest).toString()
        if (channel === 3 && !text.includes('"Success"')) reject(new Error(`${command.join(' ')}: ${output}${text}`))
        else output += channel === 3 ? '' : text
      }
      socket.onclose = () => resolve(output)
      socket.onerror = () => reject(new Error(`The cluster refused to run ${command.join(' ')}.`))
    })
  }

  api(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, host, 'content-type': 'application/json' }
    return fetch(`http://${this.entry}${path}`, { ...init, headers: { ...headers, ...init.headers } })
  }

  /** Tries again while the home of the project is away, as clients do. */
  async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const options = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const ask = async () => {
      const reply = await this.api(path, options)
      return reply.status === 503 ? null : reply
    }
    const reply = await until(`an answer of ${path}`, ask, readyMs)
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`)
    return JSON.parse(text) as T
  }

  /** As a browser asks a host below the preview domain. */
  browse(url: string, cookie = ''): Promise<{ status: number; text: string; cookie: string }> {
    const { host: name, pathname, search } = new URL(url)
    const [address, port] = this.entry.split(':')
    return new Promise((resolve, reject) => {
      const headers = { host: name, cookie }
      const options = { host: address, port, path: `${pathname}${search}`, headers, setHost: false }
      const out = httpRequest(options, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => void (text += chunk.toString()))
        const [set = ''] = (answer.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]!)
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, cookie: set }))
      })
      out.on('error', reject)
      out.end()
    })
  }

  /** git over an entry or over one server of its own. */
  git(cwd: string, args: string[], entry = this.entry): Promise<string> {
    const [address, port] = entry.split(':')
    return git(cwd, '-c', `http.curloptResolve=${host}:${port}:${address}`, ...args)
  }

  gateway(project: string, entry = this.entry): string {
    const port = entry.split(':')[1]!
    return `http://x-access-token:${this.token}@${host}:${port}/v1/projects/${project}/git`
  }

  async #makeNamespace(): Promise<void> {
    for (const name of [namespace, 'entry']) await this.make('/api/v1/namespaces', { metadata: { name } })
    const url = `postgresql://postgres:a-password@postgresql.${namespace}.svc:5432/postgres`
    const secrets = { database: { url }, 'master-key': { 'master.key': randomBytes(32).toString('base64') } }
    for (const [name, stringData] of Object.entries({ ...secrets, token: { token: this.token } }))
      await this.make(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, stringData })
  }

  /** The programs of the embedded PostgreSQL, in a pod. */
  async #makeDatabase(): Promise<void> {
    const labels = { app: 'postgresql' }
    const { binDir } = await findPostgresPrograms({ copyTo: join(this.folder, 'postgresql'), wantMajor: null })
    const start = [
      'cd /tmp && printf a-password > password',
      '/opt/postgresql/bin/initdb -D /data/main -U postgres -A scram-sha-256 --pwfile=password --locale=C -E UTF8 -N > /dev/null',
      'echo "host all all all scram-sha-256" >> /data/main/pg_hba.conf',
      `exec /opt/postgresql/bin/postgres -D /data/main -c listen_addresses='*' -c unix_socket_directories=/tmp -c fsync=off -c max_connections=200`,
    ]
    await this.make(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name: 'postgresql', labels },
      spec: {
        securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
        containers: [
          {
            ...{ name: 'postgresql', image, command: ['bash', '-c', start.join(' && ')] },
            // Without a request, busy agents take its time.
            resources: { requests: { cpu: '300m', memory: '256Mi' } },
            volumeMounts: [
              { name: 'programs', mountPath: '/opt/postgresql', readOnly: true },
              { name: 'libraries', mountPath: '/usr', readOnly: true },
              { name: 'data', mountPath: '/data' },
            ],
          },
        ],
        volumes: [
          { name: 'programs', hostPath: { path: dirname(binDir) } },
          { name: 'libraries', hostPath: { path: '/usr' } },
          { name: 'data', emptyDir: {} },
        ],
      },
    })
    await this.make(`/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: 'postgresql' },
      spec: { selector: labels, ports: [{ port: 5432 }] },
    })
  }

  async #openEntry(): Promise<void> {
    const entry = this.cluster.inside([process.execPath, join(import.meta.dir, 'ingress.ts')])
    const address = await new Promise<string>((resolve) =>
      entry.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())),
    )
    this.entry = await this.cluster.reach(address)
  }
}
