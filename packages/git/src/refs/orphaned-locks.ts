import { readdir, readFile, readlink, realpath, rm, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { GitError } from '../process/git.ts'
import { isDraftOfLiveServer } from '../objects/loose-object.ts'
import { endUpdaters } from './pooled-ref-update.ts'

/**
 * A killed git leaves its lock file behind, and every later change of that ref fails. A lock file does not name its
 * owner, so this proves that the owner has ended: no git process in this repository is as old as the lock.
 */

/** Where processes cannot be listed, a lock of this age counts as orphaned: locks are held for milliseconds. */
const unprovenAgeMs = 30_000
/** Start times are counted in hundredths of a second. */
const ticksPerSecond = 100
const toleranceMs = 100

const readsOnly = /\0(?:cat-file|diff-tree)\0/
/** It takes no lock either, but it writes objects. */
const takesNoLock = /\0merge-tree\0/
const writesNoObject = /\0update-ref\0/

/** The lock that git could not take, from its message. Only a lock inside the repository can be removed. */
export function lockInTheWay(dir: string, stderr: string): string | null {
  const path = /Unable to create '([^\n]+\.lock)': File exists/.exec(stderr)?.[1]
  return path !== undefined && isAbsolute(path) && path.startsWith(join(dir, '/')) ? path : null
}

/**
 * Removes a lock whose owner has ended. Returns true when the lock is free. `aloneAt`: no git worked in this repository at
 * that time.
 */
export async function removeIfOrphaned(
  dir: string,
  path: string,
  aloneAt = Number.NEGATIVE_INFINITY,
): Promise<boolean> {
  const lock = await stat(path).catch(() => null)
  if (lock === null) return true
  // Only a regular file can be an orphaned lock.
  if (!lock.isFile()) return false
  const isLock = path.endsWith('.lock')
  const isHeld = isLock && lock.mtimeMs < aloneAt ? false : await mayBeHeld(dir, lock.mtimeMs, isLock)
  if (isHeld ?? Date.now() - lock.mtimeMs < unprovenAgeMs) return false
  // A new owner may have taken the lock since the check; its lock is another file.
  const now = await stat(path).catch(() => null)
  if (now !== null && now.ino === lock.ino && now.mtimeMs === lock.mtimeMs) await rm(path, { force: true })
  return true
}

/** Runs work that may hit an orphaned lock; if so, removes the lock and runs it once more. */
export async function pastOrphanedLocks<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GitError) || lockInTheWay(dir, error.stderr) === null) throw error
    if ((await removeOrphanedLocks(dir)).length === 0) throw error
    return work()
  }
}

/** Removes what a crash or a full disk left: locks of refs and other files, incomplete objects and packs. */
export async function removeOrphanedLocks(dir: string): Promise<string[]> {
  const removed: string[] = []
  const locks = await listLocks(dir)
  // A git that was killed while it set many refs has left as many locks: one look at the processes is enough for all.
  const now = Date.now()
  const isAlone = locks.length > 1 && (await mayBeHeld(dir, now, true)) === false
  for (const path of [...locks, ...(await listUnfinished(dir))])
    if (await removeIfOrphaned(dir, path, isAlone ? now : undefined)) removed.push(path)
  return removed
}

async function listLocks(dir: string): Promise<string[]> {
  const places = [
    { place: dir, recursive: false },
    { place: join(dir, 'refs'), recursive: true },
    { place: join(dir, 'objects/info'), recursive: true },
  ]
  const found: string[] = []
  for (const { place, recursive } of places) {
    const entries = await readdir(place, { recursive, withFileTypes: true }).catch(() => [])
    for (const entry of entries)
      if (entry.isFile() && entry.name.endsWith('.lock')) found.push(join(entry.parentPath, entry.name))
  }
  return found
}

/** git writes each object under a temporary name, and leaves it behind when it dies or the disk is full. */
async function listUnfinished(dir: string): Promise<string[]> {
  const objects = join(dir, 'objects')
  const found: string[] = []
  for (const folder of await readdir(objects).catch(() => []))
    if (/^(?:[0-9a-f]{2}|pack)$/.test(folder))
      for (const name of await readdir(join(objects, folder)).catch(() => []))
        if (/^\.?tmp[-_]/.test(name) && !isDraftOfLiveServer(name)) found.push(join(objects, folder, name))
  return found
}

/** null: this machine does not list its processes. */
async function mayBeHeld(dir: string, since: number, isLock: boolean): Promise<boolean | null> {
  // An updater may be older than the lock and hold another lock, or none.
  if (isLock) await endUpdaters(dir)
  const uptime = await readFile('/proc/uptime', 'utf8').catch(() => null)
  if (uptime === null) return null
  const bootedAt = Date.now() - Number(uptime.split(' ')[0]) * 1000
  const place = await realpath(dir)
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    // `pid (name) state ppid …`; the name may contain anything, and a zombie holds nothing.
    const end = status.lastIndexOf(')')
    const fields = status.slice(end + 2).split(' ')
    if (end < 0 || fields[0] === 'Z' || !/\((git|prlimit)/.test(status.slice(0, end))) continue
    const startedAt = bootedAt + (Number(fields[19]) / ticksPerSecond) * 1000
    if (startedAt <= since + toleranceMs && (await mayWorkIn(pid, [dir, place], isLock))) return true
  }
  return false
}

/** A process of another user may work anywhere. */
async function mayWorkIn(pid: string, places: string[], isLock: boolean): Promise<boolean> {
  try {
    const cwd = await readlink(`/proc/${pid}/cwd`)
    const argv = await readFile(`/proc/${pid}/cmdline`, 'utf8')
    // These never take a lock, or never write an object, and some of them run for minutes.
    if (readsOnly.test(argv) || (isLock ? takesNoLock : writesNoObject).test(argv)) return false
    const words = `${argv}\0${await readFile(`/proc/${pid}/environ`, 'utf8')}`
    return places.some((place) => cwd === place || cwd.startsWith(join(place, '/')) || words.includes(place))
  } catch (error) {
    // ENOENT and ESRCH: it ended during the check.
    return !['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}
