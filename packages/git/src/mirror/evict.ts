import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from '../process/git.ts'
import { listKeptRefs, noteKeptRefs } from '../refs/kept-refs.ts'
import { withLock } from '../process/keyed-lock.ts'
import { brokenPath, makeBare, missingObjects } from './mirror.ts'
import { objectFormat } from '../process/object-format.ts'
import type { CallOptions, Repository } from '../repository.ts'
import { placeOf } from '../process/scratch.ts'
import { readTips } from '../refs/tips.ts'

/** The time of a file in the mirror is its last use, so that every server on the same folder sees it. */
const fileName = 'svc-used'
/** One minute is exact enough, and reading costs less than writing. */
const exactMs = 60_000

/** Call before every use, so that an eviction sees it. False: the mirror is being evicted; open it again. */
export async function markUsed(dir: string): Promise<boolean> {
  const path = join(dir, fileName)
  const marked = await stat(path).catch(() => null)
  const now = new Date()
  if (marked !== null && now.getTime() - marked.mtimeMs < exactMs) return true
  try {
    // A new mirror does not have the file yet.
    if (marked === null) await writeFile(path, '')
    else await utimes(path, now, now)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}

/** null: the mirror does not exist, or was removed during the check. */
export async function useOfMirror(dir: string): Promise<{ usedAt: Date; bytes: number } | null> {
  const usedAt = await lastUsed(dir)
  return usedAt === null ? null : { usedAt, bytes: await bytesBelow(join(dir, 'objects')) }
}

async function lastUsed(dir: string): Promise<Date | null> {
  const found = (await stat(join(dir, fileName)).catch(() => null)) ?? (await stat(join(dir, 'HEAD')).catch(() => null))
  return found?.mtime ?? null
}

async function bytesBelow(dir: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => null))?.size ?? 0
  return bytes
}

export type EvictOutcome =
  | { kind: 'evicted' }
  /** It is in use, or was used since the check. */
  | { kind: 'used' }
  /** It has commits that the host lacks, or the host cannot be asked. */
  | { kind: 'needed'; reason: string }

/**
 * Empties a mirror that was not used since `unusedSince`; the next use fetches it again. No commit is lost: the host
 * must have every commit of ours on a branch, and the refs come back with their commits.
 */
export async function evictMirror(
  repo: Repository,
  unusedSince: Date,
  options: CallOptions = {},
): Promise<EvictOutcome> {
  const { dir } = repo
  if (!repo.remote) throw new TypeError('A managed repository has no other copy, so it cannot be fetched again.')
  const isUnused = async (path: string) => {
    const at = await lastUsed(path)
    return at !== null && at <= unusedSince
  }
  const before = await placeOf(dir)
  let kept: Awaited<ReturnType<typeof listKeptRefs>>
  try {
    kept = await listKeptRefs(dir)
    const reason = await whyNeeded(repo, [...new Set(kept.map(({ sha }) => sha))], options)
    if (reason !== null) return { kind: 'needed', reason }
  } catch (error) {
    // Another server emptied it during the check.
    if ((await placeOf(dir)) !== before) return { kind: 'used' }
    throw error
  }
  return withLock(dir, async () => {
    if (!(await isUnused(dir))) return { kind: 'used' }
    if (await stat(brokenPath(dir)).catch(() => null))
      return { kind: 'needed', reason: 'a damaged copy is stored next to it' }
    const made = await makeBare(dir, 'main', await objectFormat(dir))
    await noteKeptRefs(made, kept)
    // Also where a rebuild puts a broken store: a server that finds the mirror missing looks there and puts it back.
    await rename(dir, brokenPath(dir))
    if (!(await isUnused(brokenPath(dir)))) {
      // It came into use between the check and the rename.
      await rename(brokenPath(dir), dir).catch(whenThere)
      await rm(made, { recursive: true, force: true })
      return { kind: 'used' }
    }
    try {
      await rename(made, dir)
    } catch (error) {
      await rm(made, { recursive: true, force: true })
      whenThere(error as NodeJS.ErrnoException)
      return { kind: 'used' }
    }
    await rm(brokenPath(dir), { recursive: true, force: true })
    return { kind: 'evicted' }
  })
}

async function whyNeeded(repo: Repository, kept: string[], options: CallOptions): Promise<string | null> {
  if (kept.length === 0) return null
  const live = await readTips(repo, 'all', options)
  if (live.kind === 'unreachable') return live.reason
  const tips = [...new Set(live.tips.values())]
  const missing = new Set(await missingObjects(repo, [...tips, ...kept]))
  if (kept.some((sha) => missing.has(sha))) return 'it lacks commits of merged change requests'
  const input = [...kept, ...tips.filter((sha) => !missing.has(sha)).map((sha) => `^${sha}`)].map((line) => `${line}\n`)
  const { stdout } = await git(repo.dir, ['rev-list', '--max-count=1', '--stdin'], {
    ...options,
    input: input.join(''),
  })
  return stdout.length === 0 ? null : 'no branch of its host has all commits of its merged change requests'
}

/** ENOTEMPTY and EEXIST: another server put it back first. */
function whenThere(error: NodeJS.ErrnoException): void {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}
