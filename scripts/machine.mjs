// The programs of the machine that sessions need. On Debian as root they are installed; elsewhere the command is shown.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, root, runQuietly, step } from './console.mjs'
import { unpackDebianPackages } from './debian-packages.mjs'

const packages = {
  bubblewrap: { program: 'bwrap', for: 'sessions run in a sandbox made by it' },
  ripgrep: { program: 'rg', for: 'the agent searches with it' },
  'openssh-client': { program: 'ssh', for: 'git hosts are reached over ssh with it' },
  uidmap: { program: 'newuidmap', for: 'the sandbox of an unprivileged server needs it' },
}

/** Beside what sessions need. */
const testPackages = {
  chromium: { program: 'chromium', for: 'the tests of the page drive it' },
}

/** What `npm test` needs of the machine; tests whose program is missing all the same are skipped and counted. */
export async function ensureTestMachine() {
  await ensurePrograms({ ...packages, ...testPackages })
}

/** Never fails: a server without sandboxes is still a server, and says so itself when a session is started. */
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

/** Where packages/git/src/testing-sshd.ts looks for it. */
const sshdFolder = join(root, 'node_modules/.cache/openssh-server')

/**
 * The tests of ssh start an sshd of their own. Debian's package is unpacked for them, not installed: installed, it would
 * start a server for everybody on this machine's network. Never fails: without it those tests are skipped and counted.
 */
export async function ensureSshd() {
  const isThere = findProgram('sshd') !== null || ['/usr/sbin', join(sshdFolder, 'usr/sbin')].some(hasSshd)
  if (isThere || findProgram('apt-get') === null || findProgram('dpkg-deb') === null) return
  const dir = mkdtempSync(join(tmpdir(), 'svc-sshd-'))
  try {
    await step('Unpacking openssh-server for the tests', () => unpackSshd(dir))
  } catch (error) {
    console.error(error.message.split('\n').slice(-1).join(''))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Where packages/server/src/http/testing-proxies.ts looks for them. */
const proxyFolder = join(root, 'node_modules/.cache/reverse-proxies')

/** The tests of docs/operate/reverse-proxy.md start an nginx and a Caddy of their own, unpacked for the same reason as sshd. */
export async function ensureReverseProxies() {
  const files = ['usr/sbin/nginx', 'usr/lib/nginx/modules/ngx_stream_module.so', 'usr/bin/caddy']
  const isThere = files.every((path) => existsSync(join(proxyFolder, path)))
  if (isThere || findProgram('apt-get') === null || findProgram('dpkg-deb') === null) return
  const dir = mkdtempSync(join(tmpdir(), 'svc-proxies-'))
  try {
    await step('Unpacking nginx and caddy for the tests', async () => {
      const unpacked = await unpackDebianPackages(['nginx', 'libnginx-mod-stream', 'caddy'], dir)
      for (const path of ['usr/bin', 'usr/sbin', 'usr/lib/nginx'])
        cpSync(join(unpacked, path), join(proxyFolder, path), { recursive: true })
    })
  } catch (error) {
    console.error(error.message.split('\n').slice(-1).join(''))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const hasSshd = (folder) => existsSync(join(folder, 'sshd'))

async function unpackSshd(dir) {
  const files = await unpackDebianPackages(['openssh-server', 'libwrap0'], dir)
  mkdirSync(join(sshdFolder, 'lib'), { recursive: true })
  const libraries = join(files, 'usr/lib')
  for (const path of readdirSync(libraries, { recursive: true }).filter((name) => /\/libwrap\.so/.test(name)))
    cpSync(join(libraries, path), join(sshdFolder, 'lib', path.split('/').at(-1)), { verbatimSymlinks: true })
  // Last: it is what tells that the rest is there.
  cpSync(join(files, 'usr/sbin'), join(sshdFolder, 'usr/sbin'), { recursive: true })
}

async function aptInstall(missing) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    runQuietly('apt-get', ['install', '-y', '--no-install-recommends', ...missing], { env, timeout: 300_000 })
  try {
    await install()
  } catch {
    // A fresh machine or container has no package lists yet.
    await runQuietly('apt-get', ['update'], { env, timeout: 300_000 })
    await install()
  }
}
