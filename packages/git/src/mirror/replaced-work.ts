/** Replaced snapshots of unfinished work: recorded, and removed from their packs once they are unused. */
import { appendFile, mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orIfAbsent } from '../process/absent.ts'
import { git, gitLines } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { forgetSeen } from './mirror.ts'
import { idsOfIndex, movePacks, packFiles } from '../objects/open-packs.ts'
import { durable } from '../objects/durable.ts'
import { isSha, requireSha, type Repository, type Sha } from '../repository.ts'
import { withScratch } from '../process/scratch.ts'

const fileName = 'svc-replaced-work'
/** Inside a larger pack, removing a snapshot costs more than it saves. */
const packBytesMax = 256 * 1024 * 1024

export async function noteReplacedWork(repo: Repository, commits: Sha[], at: Date): Promise<void> {
  const lines = commits.map((sha) => `${requireSha(sha)} ${at.getTime()}\n`)
  if (lines.length > 0) await appendFile(join(repo.dir, fileName), lines.join(''))
}

async function readNotes(dir: string): Promise<{ sha: Sha; at: number }[]> {
  const text = await readFile(join(dir, fileName), 'utf8').catch(orIfAbsent(''))
  const notes = text.split('\n').map((line) => ({ sha: line.split(' ')[0] ?? '', at: Number(line.split(' ')[1]) }))
  return notes.filter(({ sha, at }) => isSha(sha) && Number.isFinite(at))
}

/**
 * Removes objects that are reachable only from snapshots replaced before `before`. Objects that a ref or any other
 * commit reaches stay: a change request without its branch is read by commit id. Returns the number of removed
 * objects. The caller makes sure that only one server runs this at a time.
 */
export async function pruneReplacedWork(repo: Repository, before: Date, signal?: AbortSignal): Promise<number> {
  const notes = await readNotes(repo.dir)
  const due = new Set(notes.filter(({ at }) => at < before.getTime()).map(({ sha }) => sha))
  if (due.size === 0) return 0
  return withLock(repo.dir, async () => {
    const options = { lane: 'network' as const, ...(signal ? { signal } : {}) }
    const doomed = await onlyOf(repo, due, options)
    let removed = 0
    for (const index of (await packFiles(repo.dir)).filter((name) => name.endsWith('.idx')))
      removed += await takeOut(repo, index.slice(0, -'.idx'.length), { doomed, before, options })
    // It may name removed commits.
    if (removed > 0) {
      forgetSeen(repo.dir)
      await git(repo.dir, ['commit-graph', 'write', '--reachable'], options)
    }
    const left = await presentOf(repo, [...doomed], options)
    // Snapshots in a pack that was just used wait for the next pass. Reads the records again, since new ones may have
    // been added.
    const waiting = (await readNotes(repo.dir)).filter(({ sha }) => !due.has(sha) || left.has(sha))
    await writeFile(join(repo.dir, `${fileName}.new`), waiting.map(({ sha, at }) => `${sha} ${at}\n`).join(''))
    await rename(join(repo.dir, `${fileName}.new`), join(repo.dir, fileName))
    return removed
  })
}

type Options = { lane: 'network'; signal?: AbortSignal }

/** Every object that these commits reach and no ref or other commit does. */
async function onlyOf(repo: Repository, due: Set<Sha>, options: Options): Promise<Set<Sha>> {
  const ids: Sha[] = []
  await eachLine(repo, listEverything, { ...options, input: '' }, (line) => {
    if (line.startsWith('commit ')) ids.push(line.slice('commit '.length))
  })
  const mine = ids.filter((sha) => due.has(sha))
  if (mine.length === 0) return new Set()
  const input = `${ids.join('\n')}\n`
  const unnamed = await gitLines(repo.dir, ['rev-list', '--stdin', '--not', '--all'], { ...options, input })
  const others = unnamed.filter((sha) => !due.has(sha))
  const doomed = new Set<Sha>()
  const ofMine = { ...options, input: `${mine.join('\n')}\n` }
  await eachLine(repo, [...listObjects, '--not', '--all'], ofMine, (sha) => doomed.add(sha))
  // This leaves out what the nearest other commits have, but not what older ones have, so it visits all of them.
  await eachLine(
    repo,
    [...listObjects, '--all'],
    { ...options, input: others.map((sha) => `${sha}\n`).join('') },
    (sha) => doomed.delete(sha),
  )
  return doomed
}

const listEverything = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check=%(objecttype) %(objectname)']
const listObjects = ['rev-list', '--objects', '--no-object-names', '--stdin']

/** Streamed, since there may be millions; reading them at once would block the event loop. */
async function eachLine(
  repo: Repository,
  args: string[],
  options: Options & { input: string },
  take: (line: string) => void,
): Promise<void> {
  let rest = ''
  await git(repo.dir, args, {
    ...options,
    bytesMax: everythingBytesMax,
    take(chunk) {
      const lines = `${rest}${chunk.toString('latin1')}`.split('\n')
      rest = lines.pop() ?? ''
      lines.forEach(take)
    },
  })
}

/** A store of ten million objects is not scanned for a few snapshots. */
const everythingBytesMax = 512 * 1024 * 1024

async function presentOf(repo: Repository, shas: Sha[], options: Options): Promise<Set<Sha>> {
  const present = new Set<Sha>()
  const input = shas.map((sha) => `${sha}\n`).join('')
  await eachLine(repo, ['cat-file', '--batch-check=%(objectname)'], { ...options, input }, (line) => {
    if (isSha(line)) present.add(line)
  })
  return present
}

/**
 * Rewrites one pack without the removed objects. A git that is about to write an existing object only touches its
 * pack, and its next commit may need a removed object. So a pack touched since `before` is left alone, and one
 * touched until it was moved away is moved back.
 */
async function takeOut(
  repo: Repository,
  stem: string,
  { doomed, before, options }: { doomed: Set<Sha>; before: Date; options: Options },
): Promise<number> {
  const packs = join(repo.dir, 'objects/pack')
  const known = await stat(join(packs, `${stem}.pack`)).catch(() => null)
  if (known === null || known.size > packBytesMax || known.mtime >= before) return 0
  const ids = await idsOfIndex(repo.dir, join(packs, `${stem}.idx`))
  if (ids === null) return 0
  const kept = ids.filter((sha) => !doomed.has(sha))
  if (kept.length === ids.length) return 0
  const isGone = await withScratch(repo.dir, async (scratch) => {
    if (kept.length > 0) await packAnew(repo, kept, { scratch, stem, touched: known.mtime, options })
    const away = join(scratch, 'away')
    await mkdir(away)
    const names = (await packFiles(repo.dir)).filter((name) => name.startsWith(`${stem}.`))
    await movePacks(names, packs, away, 'first')
    if ((await stat(join(away, `${stem}.pack`))).mtimeMs === known.mtimeMs) return true
    await movePacks(names, away, packs, 'last')
    return false
  })
  return isGone ? ids.length - kept.length : 0
}

async function packAnew(
  repo: Repository,
  ids: Sha[],
  { scratch, stem, touched, options }: { scratch: string; stem: string; touched: Date; options: Options },
): Promise<void> {
  const made = await git(repo.dir, ['pack-objects', '--quiet', join(scratch, 'pack')], {
    ...options,
    config: durable(repo),
    input: `${ids.join('\n')}\n`,
  })
  const hash = made.stdout.toString().trim()
  // As old as the pack it replaces: it was not used.
  await utimes(join(scratch, `pack-${hash}.pack`), touched, touched)
  if (`pack-${hash}` === stem) throw new Error(`The pack ${stem} still has the objects to remove after its rewrite.`)
  const names = (await readdir(scratch)).filter((name) => name.startsWith(`pack-${hash}.`))
  await movePacks(names, scratch, join(repo.dir, 'objects/pack'), 'last')
}
