// Programs that sessions need on the machine. As root on Debian this installs them; elsewhere it prints the command.
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findProgram, root, runQuietly, step } from './console.mjs'
import { unpackForTests } from './debian-packages.mjs'
import { buildGoProgram } from './go-programs.mjs'

const packages = {
  bubblewrap: { program: 'bwrap', for: 'sessions run in a sandbox made by it' },
  ripgrep: { program: 'rg', for: 'the agent searches with it' },
  'openssh-client': { program: 'ssh', for: 'git hosts are reached over ssh with it' },
  uidmap: { program: 'newuidmap', for: 'the sandbox of an unprivileged server needs it' },
}

/** Needed in addition to those of sessions. */
const testPackages = {
  chromium: { program: 'chromium', for: 'the tests of the page drive it' },
}

/** Programs that `npm test` needs. Tests whose program is still missing are skipped and counted. */
export async function ensureTestMachine() {
  await ensurePrograms({ ...packages, ...testPackages })
}

/** Never fails: a server without sandboxes still works, and explains the gap when a session starts. */
export async function ensureMachine() {
  await ensurePrograms(packages)
}

async function ensurePrograms(wanted) {
  if (process.platform !== 'linux') return
  const missing = Object.keys(wanted).filter((name) => findProgram(wanted[name].program) === null)
  if (missing.length === 0) return
  const isDebian = existsSync('/etc/debian_version') && findProgram('apt-get') !== null
  const command = `${isDebian ? 'apt-get install -y' : 'install'} ${missing.join(' ')}`
  if (isDebian && process.getuid() === 0) {
    try {
      await step(`Installing ${missing.join(', ')} with apt-get`, () => aptInstall(missing))
      return
    } catch (error) {
      console.error(error.message.split('\n').slice(-3).join('\n'))
    }
  }
  const reasons = missing.map((name) => `${name}: ${wanted[name].for}`).join('; ')
  console.error(`Missing on this machine (${reasons}). As root: ${command}`)
}

/** packages/git/src/hosts/testing-sshd.ts looks here. */
const sshdFolder = join(root, 'node_modules/.cache/openssh-server')

/**
 * The ssh tests start their own sshd from Debian's package, unpacked rather than installed, because an installation would start
 * an ssh server on the machine's network. Never fails: without sshd those tests are skipped and counted.
 */
export async function ensureSshd() {
  const folders = ['/usr/sbin', join(sshdFolder, 'usr/sbin')]
  if (findProgram('sshd') !== null || folders.some((folder) => existsSync(join(folder, 'sshd')))) return
  await unpackForTests('openssh-server', ['openssh-server', 'libwrap0'], (files) => {
    mkdirSync(join(sshdFolder, 'lib'), { recursive: true })
    const libraries = join(files, 'usr/lib')
    for (const path of readdirSync(libraries, { recursive: true }).filter((name) => /\/libwrap\.so/.test(name)))
      cpSync(join(libraries, path), join(sshdFolder, 'lib', path.split('/').at(-1)), { verbatimSymlinks: true })
    // Written last, because its presence means that the rest is complete.
    cpSync(join(files, 'usr/sbin'), join(sshdFolder, 'usr/sbin'), { recursive: true })
  })
}

/** packages/server/src/http/connections/testing-proxies.ts looks here. */
const proxyFolder = join(root, 'node_modules/.cache/reverse-proxies')

/** The tests of docs/operate/reverse-proxy.md start their own nginx and Caddy, unpacked for the same reason as sshd. */
export async function ensureReverseProxies() {
  const files = ['usr/sbin/nginx', 'usr/lib/nginx/modules/ngx_stream_module.so', 'usr/bin/caddy']
  if (files.every((path) => existsSync(join(proxyFolder, path)))) return
  await unpackForTests('nginx and caddy', ['nginx', 'libnginx-mod-stream', 'caddy'], (unpacked) => {
    for (const path of ['usr/bin', 'usr/sbin', 'usr/lib/nginx'])
      cpSync(join(unpacked, path), join(proxyFolder, path), { recursive: true })
  })
}

/** packages/server/src/metrics/monitoring.test.ts and test/e2e/monitoring.test.ts look here. */
const prometheusFolder = join(root, 'node_modules/.cache/prometheus')

/** For the tests of deploy/monitoring. An installation of the package would start a Prometheus. */
export async function ensurePrometheus() {
  const names = ['promtool', 'prometheus']
  if (names.every((name) => findProgram(name) !== null || existsSync(join(prometheusFolder, name)))) return
  await unpackForTests('prometheus', ['prometheus'], (unpacked) => {
    for (const name of names) cpSync(join(unpacked, 'usr/bin', name), join(prometheusFolder, name), { recursive: true })
  })
}

const objectStoreVersion = 'v1.8.0'

/**
 * The tests of backups to a bucket start their own S3-compatible server, versitygw. packages/server/src/backup/place/testing-object-store.ts
 * looks here. Not in node_modules, which every change of the packages makes anew. Never fails: without Go those tests are
 * skipped and counted.
 */
export async function ensureObjectStore() {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'svc-test-object-store')
  const file = join(folder, `versitygw-${objectStoreVersion}`)
  if (existsSync(file) || findProgram('go') === null) return
  mkdirSync(folder, { recursive: true })
  const built = { module: 'github.com/versity/versitygw', command: 'cmd/versitygw', version: objectStoreVersion, file }
  try {
    await step('Building versitygw for the tests (once, about 3 minutes of processor time)', () =>
      buildGoProgram(built),
    )
  } catch (error) {
    console.error(error.message.split('\n').at(-1))
  }
}

async function aptInstall(missing) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    runQuietly('apt-get', ['install', '-y', '--no-install-recommends', ...missing], { env, timeout: 300_000 })
  try {
    await install()
  } catch {
    // A new machine or container has no package lists yet.
    await runQuietly('apt-get', ['update'], { env, timeout: 300_000 })
    await install()
  }
}
