/**
 * An image without a registry: what the agent needs, taken from this machine's own /usr and imported as one layer. Our
 * own programs are not in it; they are bound into every container, whatever image it has.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'

import { etcFiles } from '../layout.ts'
import { findProgram } from '../local/probe.ts'
import type { Engine } from './engine.ts'

const run = promisify(execFile)
export const baseRepository = 'svc-sandbox-base'

const needed = ['sh', 'bash', 'git', 'setpriv', 'prlimit']
const wanted = [
  ...['env', 'ls', 'cat', 'cp', 'mv', 'rm', 'mkdir', 'rmdir', 'ln', 'chmod', 'chown', 'touch', 'stat', 'readlink'],
  ...[
    'realpath',
    'head',
    'tail',
    'wc',
    'sort',
    'uniq',
    'cut',
    'tr',
    'tee',
    'seq',
    'sleep',
    'date',
    'id',
    'test',
    'true',
  ],
  ...['false', 'echo', 'printf', 'pwd', 'basename', 'dirname', 'mktemp', 'mknod', 'dd', 'df', 'du', 'timeout', 'nice'],
  ...[
    'nohup',
    'xargs',
    'find',
    'grep',
    'egrep',
    'sed',
    'awk',
    'gawk',
    'mawk',
    'diff',
    'patch',
    'tar',
    'gzip',
    'gunzip',
  ],
  ...[
    'xz',
    'bzip2',
    'unzip',
    'zip',
    'less',
    'file',
    'which',
    'ps',
    'pgrep',
    'pkill',
    'kill',
    'setsid',
    'unshare',
    'nsenter',
  ],
  ...['mount', 'umount', 'getent', 'curl', 'wget', 'openssl', 'ssh', 'rg', 'jq', 'make', 'perl', 'node', 'npm', 'npx'],
  ...[
    'python3',
    'pip3',
    'ip',
    'su',
    'hostname',
    'uname',
    'whoami',
    'sha256sum',
    'md5sum',
    'base64',
    'comm',
    'expr',
    'yes',
  ],
]
/** What those programs read while they run. */
const folders = [
  ...['/usr/lib/git-core', '/usr/share/git-core', '/usr/share/perl5', '/usr/share/perl', '/usr/lib/node_modules'],
  ...['/usr/share/nodejs', '/usr/share/zoneinfo/UTC', '/usr/lib/locale/C.utf8', '/usr/share/ca-certificates'],
  ...['/usr/lib/x86_64-linux-gnu/perl-base', '/usr/lib/aarch64-linux-gnu/perl-base', '/etc/ssl/certs'],
  ...['/etc/alternatives', '/etc/ssl/openssl.cnf', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
]

/** The name of the image, made if the engine has none made of these very files. */
export async function ensureBaseImage(engine: Engine, programs: string[]): Promise<string> {
  const paths = await collect(programs)
  const stamp = createHash('sha256')
  for (const path of paths) {
    const { size, mtimeMs } = lstatSync(path)
    stamp.update(`${path} ${size} ${mtimeMs}\n`)
  }
  const tag = stamp.digest('hex').slice(0, 16)
  const image = `${baseRepository}:${tag}`
  const known = await engine.request('GET', `/images/${image}/json`, { accept: [404] })
  await known.arrayBuffer()
  if (known.ok) return image
  const stage = await mkdtemp(join(tmpdir(), 'svc-image-'))
  try {
    makeStage(stage)
    const child = spawn('tar', ['-c', '-C', '/', '--no-recursion', '-T', '-', '-C', stage, '--recursion', '.'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(paths.map((path) => `${path.slice(1)}\n`).join(''))
    const stream = Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>
    const made = await engine.request('POST', `/images/create?fromSrc=-&repo=${baseRepository}&tag=${tag}`, { stream })
    const said = await made.text()
    if (/"error"/.test(said)) throw new Error(`The base image could not be made: ${said.trim().slice(-300)}`)
    return image
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/** What no program brings along: the links of a merged /usr, mount points, and who there is. */
function makeStage(stage: string): void {
  for (const name of ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32']) {
    if (existsSync(`/${name}`) && lstatSync(`/${name}`).isSymbolicLink())
      symlinkSync(readlinkSync(`/${name}`), join(stage, name))
  }
  // A tmpfs over a folder takes that folder's mode.
  const empty = {
    0o755: ['proc', 'sys', 'dev', 'run', 'run/svc', 'var', 'opt', 'opt/svc', 'workspace', 'usr/local/bin', 'etc'],
    0o700: ['root', 'opt/svc/home'],
    0o1777: ['tmp', 'var/tmp'],
  }
  for (const [mode, names] of Object.entries(empty)) {
    for (const name of names) {
      mkdirSync(join(stage, name), { recursive: true })
      chmodSync(join(stage, name), Number(mode))
    }
  }
  for (const [name, text] of Object.entries(etcFiles)) writeFileSync(join(stage, 'etc', name), text, { mode: 0o644 })
}

async function collect(programs: string[]): Promise<string[]> {
  const found = new Set<string>()
  const queue = [...needed, ...wanted].map((name) => findProgram(name)).filter((path) => path !== null)
  const executables = new Set<string>(programs)
  for (const path of queue) {
    addWithLinks(path, found)
    executables.add(realpathSync(path))
  }
  for (const folder of folders) if (existsSync(folder)) addTree(folder, found, executables)
  for (const library of await librariesOf([...executables])) addWithLinks(library, found)
  // Looked up by name while running, so no program's list has them.
  for (const folder of new Set([...found].filter((path) => path.endsWith('/libc.so.6')).map(dirname)))
    for (const name of readdirSync(folder))
      if (/^lib(nss_(files|dns)|resolv|gcc_s)\.so/.test(name)) addWithLinks(join(folder, name), found)
  return [...found].sort()
}

/** A file as every name it has on the way: `/usr/bin/awk` → `/etc/alternatives/awk` → `/usr/bin/mawk`. */
function addWithLinks(path: string, found: Set<string>): void {
  // /bin and /lib are links themselves where /usr is merged; the file is filed under its true folder.
  const at = join(realpathSync(dirname(path)), path.slice(path.lastIndexOf('/') + 1))
  if (found.has(at) || !existsSync(at)) return
  found.add(at)
  if (lstatSync(at).isSymbolicLink()) addWithLinks(resolve(dirname(at), readlinkSync(at)), found)
}

function addTree(path: string, found: Set<string>, executables: Set<string>): void {
  const at = lstatSync(path)
  if (at.isSymbolicLink()) return addWithLinks(path, found)
  found.add(path)
  if (at.isDirectory()) for (const name of readdirSync(path)) addTree(join(path, name), found, executables)
  else if (at.isFile() && ((at.mode & 0o111) !== 0 || /\.so(\.|$)/.test(path))) executables.add(path)
}

async function librariesOf(files: string[]): Promise<string[]> {
  const paths = new Set<string>()
  for (let from = 0; from < files.length; from += 200) {
    // 1: a script or a static program among them, of which ldd has nothing to say.
    const said = await run('ldd', files.slice(from, from + 200), { maxBuffer: 32 * 1024 ** 2 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    )
    for (const [, path] of said.stdout.matchAll(/(?:=> |^\s+)(\/[^\s]+) \(0x/gm)) paths.add(path!)
  }
  return [...paths]
}
