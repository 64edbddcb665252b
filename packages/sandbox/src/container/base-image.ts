/**
 * Builds an image without a registry, from this machine's own /usr, as one layer. The service's own programs are not
 * in it: every container mounts them, whatever its image.
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
const baseRepository = 'svc-sandbox-base'

const needed = ['sh', 'bash', 'git', 'setpriv', 'prlimit']
const wanted = `
  env ls cat cp mv rm mkdir rmdir ln chmod chown touch stat readlink realpath head tail wc sort uniq cut tr tee seq sleep
  date id test true false echo printf pwd basename dirname mktemp mknod dd df du timeout nice nohup xargs find grep egrep
  sed awk gawk mawk diff patch tar gzip gunzip xz bzip2 unzip zip less file which ps pgrep pkill kill setsid unshare
  nsenter mount umount getent curl wget openssl ssh rg jq make perl node npm npx python3 pip3 ip su hostname uname whoami
  sha256sum md5sum base64 comm expr yes
`
  .trim()
  .split(/\s+/)
/** Files that those programs read at run time. */
const folders = [
  ...['/usr/lib/git-core', '/usr/share/git-core', '/usr/share/perl5', '/usr/share/perl', '/usr/lib/node_modules'],
  ...['/usr/share/nodejs', '/usr/share/zoneinfo/UTC', '/usr/lib/locale/C.utf8', '/usr/share/ca-certificates'],
  ...['/usr/lib/x86_64-linux-gnu/perl-base', '/usr/lib/aarch64-linux-gnu/perl-base', '/etc/ssl/certs'],
  ...['/etc/alternatives', '/etc/ssl/openssl.cnf', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
]

/** The image's name; builds it unless the engine has one of exactly these files. */
export async function ensureBaseImage(engine: Engine, programs: string[]): Promise<string> {
  const paths = await basePaths(programs)
  const stamp = createHash('sha256')
  for (const path of paths) {
    const { size, mtimeMs } = lstatSync(path)
    stamp.update(`${path} ${size} ${mtimeMs}\n`)
  }
  const tag = stamp.digest('hex').slice(0, 16)
  const image = `${baseRepository}:${tag}`
  if (await engine.has(`/images/${image}/json`)) return image
  await withBaseLayer(paths, async (layer) => {
    const stream = Readable.toWeb(layer) as unknown as ReadableStream<Uint8Array>
    const made = await engine.request('POST', `/images/create?fromSrc=-&repo=${baseRepository}&tag=${tag}`, { stream })
    const reply = await made.text()
    if (/"error"/.test(reply)) throw new Error(`Couldn't build the base image: ${reply.trim().slice(-300)}`)
  })
  return image
}

/** Gives `use` a tar of this machine's files at those paths, with what a sandbox needs around them. */
export async function withBaseLayer(paths: string[], use: (layer: Readable) => Promise<void>): Promise<void> {
  const stage = await mkdtemp(join(tmpdir(), 'svc-image-'))
  try {
    makeStage(stage)
    const child = spawn('tar', ['-c', '-C', '/', '--no-recursion', '-T', '-', '-C', stage, '--recursion', '.'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(paths.map((path) => `${path.slice(1)}\n`).join(''))
    await use(child.stdout)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/** Files that no program brings: the links of a merged /usr, mount points, and the users. */
function makeStage(stage: string): void {
  for (const name of ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32']) {
    if (existsSync(`/${name}`) && lstatSync(`/${name}`).isSymbolicLink())
      symlinkSync(readlinkSync(`/${name}`), join(stage, name))
  }
  // A tmpfs takes the mode of the folder it covers.
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

/** Files of this machine that a sandbox needs, with `more` of them, and the libraries of those programs. */
export async function basePaths(programs: string[], more: string[] = []): Promise<string[]> {
  const found = new Set<string>()
  for (const path of more) addWithLinks(path, found)
  const queue = [...needed, ...wanted].map((name) => findProgram(name)).filter((path) => path !== null)
  const executables = new Set<string>(programs)
  for (const path of queue) {
    addWithLinks(path, found)
    executables.add(realpathSync(path))
  }
  for (const folder of folders) if (existsSync(folder)) addTree(folder, found, executables)
  for (const library of await librariesOf([...executables])) addWithLinks(library, found)
  // Loaded by name at run time, so ldd does not list them.
  for (const folder of new Set([...found].filter((path) => path.endsWith('/libc.so.6')).map(dirname)))
    for (const name of readdirSync(folder))
      if (/^lib(nss_(files|dns)|resolv|gcc_s)\.so/.test(name)) addWithLinks(join(folder, name), found)
  return [...found].sort()
}

/** Adds a file with every link on the way: `/usr/bin/awk` → `/etc/alternatives/awk` → `/usr/bin/mawk`. */
function addWithLinks(path: string, found: Set<string>): void {
  // Where /usr is merged, /bin and /lib are links, so record the file under its real folder.
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
    // 1: ldd fails for a script or a static program in the list.
    const listed = await run('ldd', files.slice(from, from + 200), { maxBuffer: 32 * 1024 ** 2 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    )
    for (const [, path] of listed.stdout.matchAll(/(?:=> |^\s+)(\/[^\s]+) \(0x/gm)) paths.add(path!)
  }
  return [...paths]
}
