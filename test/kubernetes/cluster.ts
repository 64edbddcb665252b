/**
 * A real Kubernetes of one node for tests: API server, scheduler, controllers, kubelet and containerd in namespaces of their
 * own. scripts/test-kubernetes.mjs builds and unpacks the programs once.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
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
const packages = join(built, 'packages')
const readyMs = 240_000

export interface TestCluster {
  /** Reaches the API server from this machine. */
  kubeconfig: string
  /** Whether the test made it, and may change what it likes. */
  isOwn: boolean
  /** The folder of the cluster, with `OPEN` as the switch of the network policies. */
  folder: string
  api(method: string, path: string, body?: unknown): Promise<Response>
  importImage(archive: string, reference: string): Promise<void>
  /** The process id of the namespaces' first process. */
  pid: number
  close(): Promise<void>
}

/** Returns the reason as a sentence when no cluster can start. */
export async function startTestCluster({ agents }: { agents: boolean }): Promise<TestCluster | string> {
  const given = process.env['SVC_TEST_KUBECONFIG']
  if (given !== undefined) return givenCluster(given)
  // A cluster takes minutes and a gigabyte of memory, which the whole suite has no room for.
  if (process.env['SVC_TEST_KUBERNETES'] !== '1') return 'npm run test:kubernetes runs them'
  if (!existsSync(kube)) return 'there is no cluster: npm run test:kubernetes builds one'
  if (process.getuid?.() !== 0) return 'a cluster can only be started by root'
  const folder = await mkdtemp(join(tmpdir(), 'svc-k8s-'))
  const token = crypto.randomUUID()
  const port = Promise.withResolvers<number>()
  await writeConfigs(folder, token)
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
  const api = (method: string, path: string, body?: unknown) =>
    fetch(server + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: { ca },
    })
  const close = () => end(node, door, folder)
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
  return {
    ...{ kubeconfig: join(folder, 'kubeconfig'), isOwn: true, folder, api, pid, close },
    async importImage(archive, reference) {
      const images = async (args: string[]) =>
        run(
          join(packages, 'usr/bin/ctr'),
          ['--address', join(folder, 'containerd.sock'), '-n', 'k8s.io', 'images', ...args],
          {
            env: { ...process.env, LD_LIBRARY_PATH: join(packages, 'usr/lib/x86_64-linux-gnu') },
          },
        )
      await images(['import', archive])
      // Each pod has a container that only holds its namespaces; any image that sleeps will do.
      await images(['tag', '--force', reference, pauseImage])
    },
  }
}

async function writeConfigs(folder: string, token: string): Promise<void> {
  for (const name of ['pki', 'log', 'cni', 'cni-state', 'pod-logs', 'kubelet', 'containerd'])
    await mkdir(join(folder, name))
  await chmod(folder, 0o755)
  const pki = join(folder, 'pki')
  const openssl = (args: string[]) => run('openssl', args, { cwd: pki })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await openssl(['req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test-ca'])
  for (const { name, subject, names } of certificates) {
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
    inside.pipe(outside).pipe(inside)
    for (const one of [inside, outside])
      one.on('error', () => {}).on('close', () => (inside.destroy(), outside.destroy()))
  })
  return new Promise((ready) => {
    door.listen(0, '127.0.0.1', () => {
      listening((door.address() as { port: number }).port)
      ready(door)
    })
  })
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
    close: async () => {},
  }
}
