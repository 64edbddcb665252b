import { lstat, readFile, realpath, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface LocalPolicy {
  /** Folders whose repositories may be used; `owned`: any repository owned by the user of this process. */
  roots: readonly string[] | 'owned'
  /** Folders of the service, which contain no repository to adopt. */
  closed: readonly string[]
}

/** `url` has the real path, without symbolic links. */
export type LocalVerdict = { kind: 'allowed'; url: string } | { kind: 'refused'; reason: string }

/** Below these, processes, devices, and sandboxes expose other folders of the machine. */
const pseudoFolders = ['/proc', '/sys', '/dev', '/run/svc']
/** proc, sysfs, cgroup, cgroup2, devpts, debugfs, tracefs, securityfs, and bpf, by their numbers in linux/magic.h. */
const pseudoTypes = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11,
])
/** git follows at most five alternates in a row. */
const alternatesDepthMax = 5

const notOnDisk =
  'This path is not on a disk: it belongs to a process, a device or a sandbox and can change at any time.'

class Refused extends Error {}

/**
 * Judges a repository on this machine by the real path of everything git reads: the folder, its git folder, the
 * common folder of a work tree, objects, refs, and alternates.
 */
export async function judgeLocalRepository(path: string, policy: LocalPolicy): Promise<LocalVerdict> {
  try {
    const real = await realFolder(path)
    const { own, parts } = await gitFolders(real)
    const rules = await readRules(policy)
    for (const place of new Set([real, ...own])) await judgePlace(place, rules, true)
    for (const place of new Set(parts)) await judgePlace(place, rules, false)
    return { kind: 'allowed', url: pathToFileURL(real).href }
  } catch (error) {
    if (error instanceof Refused) return { kind: 'refused', reason: error.message }
    throw error
  }
}

/** Resolves the real path. A link below /proc can lead to a folder that has this path only in another namespace. */
async function realFolder(path: string): Promise<string> {
  refusePseudo(path)
  for (const named of [path, `${path}.git`]) {
    const real = await realpath(named).catch(() => null)
    if (real === null) continue
    const [before, after] = await Promise.all([stat(named).catch(() => null), lstat(real).catch(() => null)])
    if (before?.isDirectory() && after !== null && before.dev === after.dev && before.ino === after.ino) return real
  }
  throw new Refused('There is no folder at this path, or the server cannot read it.')
}

/** The real path of every folder that git reads. The user of this process must own those in `own`. */
async function gitFolders(real: string): Promise<{ own: string[]; parts: string[] }> {
  const gitDir = (await gitDirAt(join(real, '.git'))) ?? (await gitDirAt(real))
  if (gitDir === null) throw new Refused('There is no git repository at this path.')
  const pointer = await readFile(join(gitDir, 'commondir'), 'utf8').catch(() => null)
  const common = pointer === null ? gitDir : await realOr(resolve(gitDir, pointer.trim()))
  const parts = ['HEAD', 'config', 'packed-refs', 'refs', 'refs/heads', 'objects', 'objects/info', 'objects/pack']
  const found = await Promise.all(
    [gitDir, common].flatMap((dir) => parts.map((part) => realpath(join(dir, part)).catch(() => null))),
  )
  const alternates = await alternatesOf(await realOr(join(common, 'objects')), 0)
  return { own: [gitDir, common], parts: [...found.filter((path) => path !== null), ...alternates] }
}

/** Looks like git: a folder with HEAD, or a file that names such a folder. */
async function gitDirAt(path: string): Promise<string | null> {
  const real = await realpath(path).catch(() => null)
  if (real === null) return null
  const info = await stat(real)
  if (info.isFile()) {
    const named = /^gitdir: (.+?)\n*$/.exec(await readFile(real, 'utf8'))?.[1]
    return named === undefined ? null : gitDirAt(resolve(dirname(real), named))
  }
  const isThere = await Promise.all(
    ['HEAD', 'objects', 'commondir'].map((part) => lstat(join(real, part)).catch(() => null)),
  )
  return isThere[0] && (isThere[1] || isThere[2]) ? real : null
}

async function alternatesOf(objects: string, depth: number): Promise<string[]> {
  const text = await readFile(join(objects, 'info/alternates'), 'utf8').catch(() => '')
  const named = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  if (named.length > 0 && depth === alternatesDepthMax)
    throw new Refused(
      'This repository borrows objects through more than five others (objects/info/alternates). Use a clone of it.',
    )
  const found: string[] = []
  for (const line of named) {
    // git parses a quoted line as a C string.
    if (line.startsWith('"'))
      throw new Refused(
        'This repository borrows objects from a quoted path (objects/info/alternates). Use a clone of it.',
      )
    const real = await realOr(resolve(objects, line))
    found.push(real, ...(await alternatesOf(real, depth + 1)))
  }
  return found
}

/** A missing path is judged by its name, since it could appear later. */
async function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

interface Rules {
  roots: string[] | 'owned'
  closed: string[]
  mounts: Mount[]
}

async function readRules(policy: LocalPolicy): Promise<Rules> {
  const mounts = parseMounts(await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''))
  const closed = await Promise.all(policy.closed.map(realOr))
  return { roots: policy.roots === 'owned' ? 'owned' : await Promise.all(policy.roots.map(realOr)), closed, mounts }
}

async function judgePlace(place: string, { roots, closed, mounts }: Rules, isOwn: boolean): Promise<void> {
  refusePseudo(place)
  const onDisk = onDevice(mounts, place)
  for (const folder of closed)
    if (isBelow(place, folder) || isBelow(onDisk, onDevice(mounts, folder)))
      throw new Refused('This path belongs to the service itself.')
  const { type } = await statfs(place).catch(() => ({ type: 0 }))
  if (pseudoTypes.has(Number(type))) throw new Refused(notOnDisk)
  const root = roots === 'owned' ? '/' : roots.find((folder) => isBelow(place, folder))
  if (root === undefined)
    throw new Refused(
      'This path is outside the folders that the operator allows for repositories (SVC_FILE_REPOSITORY_ROOTS).',
    )
  await refuseForeign(place, root, isOwn)
}

/** The owner of a folder on the way could replace the repository between this check and git's access. */
async function refuseForeign(place: string, root: string, isOwn: boolean): Promise<void> {
  const me = process.getuid?.() ?? 0
  for (let at = place; at !== root && at !== '/'; at = dirname(at)) {
    const info = await lstat(at).catch(() => null)
    if (info === null) continue
    const isOpen = info.isDirectory() && (info.mode & 0o002) !== 0 && (info.mode & 0o1000) === 0
    const isForeign = info.uid !== me && ((isOwn && at === place) || info.uid !== 0)
    if (isForeign || isOpen)
      throw new Refused(
        isOpen
          ? `Every user of this machine can write to ${at}, so the repository could be replaced. Move it, or run chmod o-w on that folder.`
          : `The server runs as another user than the owner of ${at}. Use a clone that belongs to the server's user.`,
      )
  }
}

function refusePseudo(path: string): void {
  if (pseudoFolders.some((folder) => isBelow(resolve(path), folder))) throw new Refused(notOnDisk)
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

interface Mount {
  device: string
  /** The folder of the device that is mounted. */
  inner: string
  at: string
}

function parseMounts(mountinfo: string): Mount[] {
  const plain = (text: string) =>
    text.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)))
  return mountinfo
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([, , device = '', inner = '', at = '']) =>
      at === '' ? [] : [{ device, inner: plain(inner), at: plain(at) }],
    )
}

/** The path with its device instead of its mount point: equal for two bind mounts of one folder. */
function onDevice(mounts: Mount[], path: string): string {
  // The last of two mounts on one point covers the first.
  const mount = mounts
    .filter(({ at }) => isBelow(path, at))
    .reduce<Mount | null>((best, each) => (best === null || each.at.length >= best.at.length ? each : best), null)
  if (mount === null) return path
  return `${mount.device} ${join(mount.inner, path.slice(mount.at === '/' ? 0 : mount.at.length))}`.replace(/\/$/, '')
}
