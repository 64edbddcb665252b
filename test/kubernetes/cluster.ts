/**
 * A real Kubernetes of one node for tests: API server, scheduler, controllers, kubelet and containerd in namespaces of their
 * own. scripts/test-kubernetes.mjs builds and unpacks the programs once.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

import { readAccess } from '../../packages/sandbox/src/kubernetes/access.ts'

import {
  certificates,
  containerdConfig,
  kubeconfig,
  kubeletConfig,
  networkConfig,
  nodeAddress,
  pauseImage,
} from './configs.ts'

const run = promisify(execFile)

/** scripts/test-kubernetes.mjs fills this folder. */
const built = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-test-kubernetes')
const kube = join(built, 'kube')
export const helm = join(built, 'helm')
const packages = join(built, 'packages')
const readyMs = 240_000

export interface TestCluster {
  /** Reaches the API server from this machine. */
  kubeconfig: string
  /** Whether the test made it, and may change what it likes. */
  isOwn: boolean
  /** The folder of the cluster, with `OPEN` as the switch of the network policies. */
  folder: string
  /** As the administrator, or with another token. */
  api(method: string, path: string, body?: unknown, token?: string): Promise<Response>
  importImage(archive: string, reference: string): Promise<void>
  /** Gives an image another name. */
  tagImage(reference: string, another: string): Promise<void>
  /** The process id of the namespaces' first process. */
  pid: number
  /** A command in the network of the cluster and in its folder. */
  inside(command: string[]): ChildProcess
  /** An address on this machine's loopback that leads to address:port in the network of the cluster. */
  reach(address: string): Promise<string>
  /** The address in the network of the cluster that leads to a port of this machine's loopback. */
  expose(port: number): Promise<string>
  close(): Promise<void>
}

/** Returns the reason as a sentence when no cluster can start. */
export async function startTestCluster(options: { agents: boolean }): Promise<TestCluster | string> {
  const given = process.env['SVC_TEST_KUBECONFIG']
  if (given !== undefined) return givenCluster(given)
  // A cluster takes minutes and a gigabyte of memory, which the whole suite has no room for.
  if (process.env['SVC_TEST_KUBERNETES'] !== '1') return 'npm run test:kubernetes runs them'
  return startOwnCluster(options)
}

/** `addresses`: further ones at which the API server is reached, for its certificate. */
export async function startOwnCluster({
  agents,
  addresses = [],
}: {
  agents: boolean
  addresses?: string[]
}): Promise<TestCluster | string> {
  if (!existsSync(kube)) return 'there is no cluster: npm run test:kubernetes builds one'
  if (process.getuid?.() !== 0) return 'a cluster can only be started by root'
  const folder = await mkdtemp(join(tmpdir(), 'svc-k8s-'))
  const token = crypto.randomUUID()
  const port = Promise.withResolvers<number>()
  await writeConfigs(folder, token, addresses)
  const scripts = import.meta.dir
  const node = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private', '--net', '--pid', '--uts', '--ipc', '--fork', '--kill-child'],
      ...[
        '--mount-proc',
        'bash',
        join(scripts, 'node.sh'),
        nodeAddress,
        kube,
        packages,
        process.execPath,
        scripts,
        basename(folder),
      ],
    ],
    { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  )
  let output = ''
  for (const stream of [node.stdout, node.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2000)))
  const door = await openDoor(join(folder, 'api.sock'), port.resolve)
  const server = `https://127.0.0.1:${await port.promise}`
  const ca = readFileSync(join(folder, 'pki/ca.crt'), 'utf8')
  await writeFile(join(folder, 'kubeconfig'), kubeconfig(server, ca, token), { mode: 0o600 })
  const api = (method: string, path: string, body?: unknown, as = token) =>
    fetch(server + path, {
      method,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: { ca },
    })
  const children: ChildProcess[] = []
  const close = () => {
    for (const child of children) child.kill('SIGKILL')
    return end(node, door, folder)
  }
  const deadline = Date.now() + readyMs
  while (!(await isReady(folder, api))) {
    if (node.exitCode !== null || Date.now() > deadline) {
      const why = output.trim() || 'its node did not get ready'
      await close()
      return `the cluster does not start here: ${why}`
    }
    await Bun.sleep(200)
  }
  if (agents) await installAgents(api, folder)
  const pid = Number((await run('pgrep', ['-P', String(node.pid)])).stdout.trim())
  const images = (args: string[]) => runImages(folder, args)
  return {
    ...{ kubeconfig: join(folder, 'kubeconfig'), isOwn: true, folder, api, pid, close },
    ...passages({ folder, pid, children }),
    async importImage(archive, reference) {
      await images(['import', archive])
      // Each pod has a container that only holds its namespaces; any image that sleeps will do.
      await images(['tag', '--force', reference, pauseImage])
    },
    tagImage: (reference, another) => images(['tag', '--force', reference, another]),
  }
}

async function runImages(folder: string, args: string[]): Promise<void> {
  await run(
    join(packages, 'usr/bin/ctr'),
    ['--address', join(folder, 'containerd.sock'), '-n', 'k8s.io', 'images', ...args],
    { env: { ...process.env, LD_LIBRARY_PATH: join(packages, 'usr/lib/x86_64-linux-gnu') } },
  )
}

/** Ways between this machine's network and that of the cluster. They end with the cluster. */
function passages({
  folder,
  pid,
  children,
}: {
  folder: string
  pid: number
  children: ChildProcess[]
}): Pick<TestCluster, 'inside' | 'reach' | 'expose'> {
  let count = 0
  const inside = (command: string[]) => {
    const child = spawn('nsenter', ['--target', String(pid), '--net', ...command], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    return child
  }
  const pass = (from: string, to: string) => inside([process.execPath, join(import.meta.dir, 'door.ts'), from, to])
  return {
    inside,
    async reach(address) {
      const socket = join(folder, `reach-${++count}.sock`)
      pass(socket, address)
      const port = Promise.withResolvers<number>()
      ;(await openDoor(socket, port.resolve)).unref()
      while (!existsSync(socket)) await Bun.sleep(20)
      return `127.0.0.1:${await port.promise}`
    },
    async expose(port) {
      const socket = join(folder, `expose-${++count}.sock`)
      const door = createServer((from) => copyBetween(from, connect({ host: '127.0.0.1', port })))
      await new Promise<void>((ready) => door.listen(socket, ready))
      door.unref()
      const address = `${nodeAddress}:${exposedPorts + count}`
      pass(address, socket)
      return address
    },
  }
}

const exposedPorts = 30_000

async function writeConfigs(folder: string, token: string, addresses: string[]): Promise<void> {
  for (const name of ['pki', 'log', 'cni', 'cni-state', 'pod-logs', 'kubelet', 'containerd'])
    await mkdir(join(folder, name))
  await chmod(folder, 0o755)
  const pki = join(folder, 'pki')
  const openssl = (args: string[]) => run('openssl', args, { cwd: pki })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await openssl(['req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test-ca'])
  for (const { name, subject, names } of certificates(addresses)) {
    await openssl(['req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject])
    await writeFile(join(pki, `${name}.ext`), names === undefined ? '' : `subjectAltName=${names}\n`)
    await openssl([
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-out', `${name}.crt`, '-days', '2', '-extfile', `${name}.ext`],
    ])
  }
  await openssl(['genrsa', '-out', 'accounts.key', '2048'])
  const ca = readFileSync(join(pki, 'ca.crt'), 'utf8')
  const files = {
    'pki/tokens.csv': `${token},admin,admin,"system:masters"\n`,
    'inside.kubeconfig': kubeconfig('https://127.0.0.1:6443', ca, token),
    'containerd.toml': containerdConfig(folder, packages),
    'cni/10-svc.conflist': networkConfig(folder),
    'kubelet.yaml': kubeletConfig(folder, basename(folder)),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
}

function openDoor(socket: string, listening: (port: number) => void): Promise<Server> {
  const door = createServer((outside) => {
    const inside = connect(socket)
    copyBetween(outside, inside)
  })
  return new Promise((ready) => {
    door.listen(0, '127.0.0.1', () => {
      listening((door.address() as { port: number }).port)
      ready(door)
    })
  })
}

function copyBetween(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one)
  for (const socket of [one, other]) socket.on('error', () => {}).on('close', () => (one.destroy(), other.destroy()))
}

async function isReady(folder: string, api: TestCluster['api']): Promise<boolean> {
  if (!existsSync(join(folder, 'started'))) return false
  const reply = await api('GET', '/api/v1/nodes/node-1').catch(() => null)
  if (reply?.ok !== true) return false
  const node = (await reply.json()) as { status?: { conditions?: { type: string; status: string }[] } }
  const account = await api('GET', '/api/v1/namespaces/default/serviceaccounts/default')
  return account.ok && (node.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** The resources of agent-sandbox. Only one version is used, so nothing converts between them. */
async function installAgents(api: TestCluster['api'], folder: string): Promise<void> {
  for (const name of readdirSync(join(built, 'crds'))) {
    const resource = Bun.YAML.parse(readFileSync(join(built, 'crds', name), 'utf8')) as {
      spec: { conversion?: unknown }
    }
    resource.spec.conversion = { strategy: 'None' }
    const reply = await api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', resource)
    if (!reply.ok) throw new Error(await reply.text())
  }
  // The controller ends when it starts before the API server serves them.
  const groups = ['agents.x-k8s.io', 'extensions.agents.x-k8s.io']
  const isServed = async (group: string) => (await api('GET', `/apis/${group}/v1beta1`)).ok
  while (!(await Promise.all(groups.map(isServed))).every(Boolean)) await Bun.sleep(100)
  // node.sh waits for this file.
  await writeFile(join(folder, 'agents.yes'), '')
}

async function end(node: ChildProcess, door: Server, folder: string): Promise<void> {
  door.close()
  const gone = new Promise<void>((done) => {
    if (node.exitCode !== null || node.signalCode !== null) done()
    else node.once('exit', () => done())
  })
  // With the launcher goes the first process of the namespaces, and with that one everything.
  node.kill('SIGKILL')
  await gone
  await removeControlGroups(basename(folder))
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 })
}

async function removeControlGroups(name: string): Promise<void> {
  const groups = '/sys/fs/cgroup'
  const leaves = async (path: string): Promise<void> => {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) await leaves(join(path, entry.name))
    await rmdir(path).catch(stillUsed)
  }
  for (const kind of readdirSync(groups)) {
    const path = join(groups, kind, name)
    if (existsSync(path)) await leaves(path)
  }
}

/** The kernel still ends its last process; an empty group costs nothing. */
function stillUsed(): void {}

/** The cluster of an operator: its nodes have the images already. */
function givenCluster(kubeconfig: string): TestCluster {
  const access = readAccess({ kubeconfig, service: null })
  return {
    ...{ kubeconfig, isOwn: false, folder: '', pid: 0 },
    api: async (method, path, body) =>
      fetch(access.server + path, {
        method,
        headers: { ...(await access.headers()), 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        tls: access.tls,
      }),
    importImage: async () => {},
    tagImage: async () => {},
    inside: ownOnly,
    reach: ownOnly,
    expose: ownOnly,
    close: async () => {},
  }
}

function ownOnly(): never {
  throw new Error('Only in a cluster that the test made.')
}
