/**
 * A replica: the objects and refs of a repository on another server, as a bare repository. Its objects arrive ahead of
 * the refs that need them, so nothing here removes an object that no ref reaches yet.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { durable, syncPaths } from '../objects/durable.ts'
import { boundedPack, cheapPack } from '../objects/pack-cost.ts'
import { orIfAbsent } from '../process/absent.ts'
import { streamChild } from '../process/child-stream.ts'
import { explainEnd, git, gitLines, startGit } from '../process/git.ts'
import { objectFormat, type ObjectFormat } from '../process/object-format.ts'
import { withLock } from '../process/keyed-lock.ts'
import { borrowObjects, sweepScratch, withScratch } from '../process/scratch.ts'
import { forgetNotedRefs, notedKeptRefs, noteKeptRefs } from '../refs/kept-refs.ts'
import { putRefs } from '../refs/refs.ts'
import { isRootRef, rootRefs } from '../refs/root-refs.ts'
import { fetchRefspecs, makeBare, missingObjects } from './mirror.ts'
import { packFiles } from '../objects/open-packs.ts'
import {
  isSha,
  requireSha,
  zeroSha,
  type CallOptions,
  type RefValue,
  type Repository,
  type Sha,
} from '../repository.ts'

const fileName = 'svc-replica'

/** What a replica holds: the refs as of change `seq` of the home with this epoch. */
export interface ReplicaMark {
  epoch: number
  seq: number
}

/** Null: there is no replica, or it was not filled completely. */
export async function readReplicaMark(dir: string): Promise<ReplicaMark | null> {
  const text = await readFile(join(dir, fileName), 'utf8').catch(orIfAbsent(''))
  const [, epoch, seq] = /^(\d+) (\d+)\n$/.exec(text) ?? []
  return epoch === undefined ? null : { epoch: Number(epoch), seq: Number(seq) }
}

/** The repository is a replica from now on. */
export async function markReplica(dir: string, { epoch, seq }: ReplicaMark): Promise<void> {
  const path = join(dir, `${fileName}.new`)
  await writeFile(path, `${epoch} ${seq}\n`)
  await syncPaths([path])
  await rename(path, join(dir, fileName))
  await syncPaths([dir])
}

/** The repository is one of its home from now on. */
export async function removeReplicaMark(dir: string): Promise<void> {
  await rm(join(dir, fileName), { force: true })
}

/** All refs of a repository, also the hidden ones. Those that a replica alone has are none of its repository. */
export async function listAllRefs(dir: string, prefix = 'refs/'): Promise<RefValue[]> {
  return (await readRefs(dir, prefix)).filter(({ ref }) => !isRootRef(ref))
}

async function readRefs(dir: string, prefix: string): Promise<RefValue[]> {
  const lines = await gitLines(dir, ['for-each-ref', '--format=%(objectname) %(refname)', prefix])
  return lines.map((line) => ({ sha: requireSha(line.split(' ')[0] ?? ''), ref: line.split(' ')[1] ?? '' }))
}

/**
 * Keeps these commits, as far as they are here with their history: rows name them, and no ref of the repository has to
 * reach them. A replica tidies itself by its refs alone, so each gets one.
 */
export async function keepRoots(dir: string, shas: Sha[]): Promise<void> {
  await withLock(dir, () => pointToRoots(dir, shas))
}

async function pointToRoots(dir: string, shas: Sha[]): Promise<void> {
  if (shas.length === 0) return
  const repo: Repository = { dir, remote: null }
  const missing = new Set(await missingObjects(repo, shas))
  const here = [...new Set(shas)].filter((sha) => !missing.has(sha))
  const broken = new Set(await incompleteCommits(dir, here))
  const whole = here.filter((sha) => !broken.has(sha))
  if (whole.length === 0) return
  const reached = (await listAllRefs(dir)).map(({ sha }) => `^${sha}`)
  const input = `${[...whole, ...reached].join('\n')}\n`
  const walked = await git(dir, ['rev-list', '--stdin'], { input, lane: 'network' })
  const apart = new Set(walked.stdout.toString().split('\n'))
  await putRefs(
    repo,
    whole.filter((sha) => apart.has(sha)).map((sha) => ({ ref: `${rootRefs}${sha}`, sha })),
  )
}

/** Before the replica becomes a repository, where rows alone keep these commits. */
export async function dropRoots(dir: string): Promise<void> {
  const gone = (await readRefs(dir, rootRefs)).map(({ ref, sha }) => ({ ref, sha: zeroSha(sha) }))
  await putRefs({ dir, remote: null }, gone)
}

type PackOptions = CallOptions & { isUrgent?: boolean }

/**
 * The objects that these commits need beyond those that the replica has, as a thin pack. `has` may name commits that
 * this repository lacks only after `missingObjects` was asked.
 */
export async function packForReplica(
  repo: Repository,
  { wants, has }: { wants: Sha[]; has: Sha[] },
  options?: PackOptions,
): Promise<ReadableStream<Uint8Array>> {
  return packObjects(repo, { wants, has, how: '--thin' }, options)
}

/** The objects that these commits need and that are in no pack of this repository. */
export async function packUnpacked(
  repo: Repository,
  wants: Sha[],
  options?: PackOptions,
): Promise<ReadableStream<Uint8Array>> {
  // --unpacked would leave out a loose file of a commit that is packed.
  return packObjects(repo, { wants, has: [], how: '--incremental' }, options)
}

async function packObjects(
  repo: Repository,
  { wants, has, how }: { wants: Sha[]; has: Sha[]; how: '--thin' | '--incremental' },
  { signal, isUrgent = false }: PackOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  const args = ['pack-objects', '--revs', how, '--stdout', '--quiet', '--delta-base-offset']
  const child = await startGit(repo.dir, args, {
    lane: 'serve',
    group: repo.group,
    isUrgent,
    config: cheapPack,
    ...(signal ? { signal } : {}),
  })
  child.stdin.end([...wants.map(requireSha), ...has.map((sha) => `^${requireSha(sha)}`), ''].join('\n'))
  return streamChild(child, { args })
}

/** The paths of the packs that git reads. Null: it also reads those of another repository. */
export async function packPaths(dir: string): Promise<string[] | null> {
  const borrowed = await readFile(join(dir, 'objects/info/alternates'), 'utf8').catch(orIfAbsent(''))
  if (borrowed !== '') return null
  const folder = join(dir, 'objects/pack')
  const names = new Set(await readdir(folder).catch(orIfAbsent<string[]>([])))
  const packs = [...names].filter((name) => name.endsWith('.pack') && names.has(name.replace(/pack$/, 'idx')))
  return packs.map((name) => join(folder, name))
}

/** Stores a pack of `packForReplica`. Resolves once it is on the disk. */
export async function keepReplicaPack(
  dir: string,
  pack: AsyncIterable<Uint8Array>,
  options: CallOptions = {},
): Promise<void> {
  // git leaves what it has written of a pack that broke off, or that did not fit on the disk.
  await withScratch(dir, async (scratch) => {
    const env = await borrowObjects(dir, scratch)
    await indexPack(dir, pack, { ...options, env })
    const [from, to] = [join(env.GIT_OBJECT_DIRECTORY, 'pack'), join(dir, 'objects/pack')]
    // Without its index no git reads a pack.
    const names = (await readdir(from)).toSorted((a, b) => +a.endsWith('.idx') - +b.endsWith('.idx'))
    for (const name of names) await rename(join(from, name), join(to, name))
    await syncPaths([to])
  })
}

async function indexPack(
  dir: string,
  pack: AsyncIterable<Uint8Array>,
  options: CallOptions & { env: Record<string, string> },
): Promise<void> {
  const repo: Repository = { dir, remote: null }
  const args = ['index-pack', '--stdin', '--fix-thin']
  const child = await startGit(dir, args, { ...options, lane: 'push', isUrgent: true, config: durable(repo) })
  // A git that has the whole pack may end before it hears that nothing follows.
  const source: { failure: Error | null } = { failure: null }
  const fed = pipeline(Readable.from(watched(pack, source)), child.stdin).catch(endedMeanwhile)
  child.stdout.resume()
  const end = await child.ended
  const explained = explainEnd(args, end, [0])
  // git knows only that its input ended, and not that the source failed. A caller that left ends both.
  const isLeft = end.killedFor !== null || options.signal?.aborted === true
  const failure = isLeft ? explained : (source.failure ?? explained)
  if (failure !== null) throw failure
  await fed
  if (source.failure !== null) throw source.failure
}

/** Removes what processes that were killed have left: folders of ours, and parts of packs of git. */
export async function sweepReplica(dir: string): Promise<void> {
  await sweepScratch(dir)
  const packs = join(dir, 'objects/pack')
  for (const name of await readdir(packs).catch(orIfAbsent<string[]>([]))) {
    if (!/^(?:tmp_|\.tmp-)/.test(name)) continue
    const path = join(packs, name)
    const { mtimeMs } = await stat(path)
    // A younger one may be that of a git of this server which joins packs.
    if (mtimeMs < performance.timeOrigin) await rm(path, { force: true })
  }
}

interface Filled extends ReplicaMark {
  refs: RefValue[]
  format: ObjectFormat
  /** Hidden refs whose commits only the host has, because the mirror is emptied. */
  noted?: RefValue[]
  /** Commits that no ref has to reach. */
  roots?: Sha[]
  /** Null when the replica needs no more objects. */
  pack: AsyncIterable<Uint8Array> | null
}

/** Makes or completes a replica, which has exactly these refs afterwards. Until then it has no mark. */
export async function fillReplica(dir: string, filled: Filled, options: CallOptions = {}): Promise<void> {
  await withLock(dir, async () => {
    const found = await objectFormat(dir).catch(() => null)
    if (found !== filled.format) {
      await rm(dir, { recursive: true, force: true })
      await mkdir(dirname(dir), { recursive: true })
      await rename(await makeBare(dir, 'main', filled.format), dir)
    }
    await rm(join(dir, fileName), { force: true })
    if (filled.pack !== null) await keepReplicaPack(dir, filled.pack, options)
    await requireWhole(
      dir,
      filled.refs.map(({ sha }) => sha),
    )
    const wanted = new Set(filled.refs.map(({ ref }) => ref))
    const before = await listAllRefs(dir)
    const gone = before.filter(({ ref }) => !wanted.has(ref)).map(({ ref, sha }) => ({ ref, sha: zeroSha(sha) }))
    const repo: Repository = { dir, remote: null }
    // In this order, so that `a` can make room for `a/b`.
    await putRefs(repo, gone)
    await putRefs(repo, filled.refs)
    await pointToRoots(dir, filled.roots ?? [])
    await forgetNotedRefs(dir)
    await noteKeptRefs(dir, filled.noted ?? [])
    await markReplica(dir, filled)
  })
}

/** Brings the refs of a replica to a later change. The caller knows that it has their objects. */
export async function followReplica(dir: string, values: RefValue[], mark: ReplicaMark): Promise<boolean> {
  return withLock(dir, async () => {
    const now = await readReplicaMark(dir)
    if (now === null || now.epoch > mark.epoch || (now.epoch === mark.epoch && now.seq >= mark.seq)) return false
    const repo: Repository = { dir, remote: null }
    const isGone = ({ sha }: RefValue) => /^0+$/.test(sha)
    await putRefs(repo, values.filter(isGone))
    await putRefs(
      repo,
      values.filter((value) => !isGone(value)),
    )
    await markReplica(dir, mark)
    return true
  })
}

/** Those of these commits whose history is not complete here. */
export async function incompleteCommits(dir: string, shas: Sha[]): Promise<Sha[]> {
  const wanted = [...new Set(shas)].filter((sha) => isSha(sha) && !/^0+$/.test(sha))
  if (wanted.length === 0 || (await isWhole(dir, wanted))) return []
  const incomplete: Sha[] = []
  for (const sha of wanted) if (!(await isWhole(dir, [sha]))) incomplete.push(sha)
  return incomplete
}

async function isWhole(dir: string, shas: Sha[]): Promise<boolean> {
  // 128: an object is missing.
  const walked = await git(dir, ['rev-list', '--objects', '--quiet', '--stdin'], {
    input: `${shas.map(requireSha).join('\n')}\n`,
    lane: 'network',
    accept: [0, 128],
  })
  return walked.code === 0
}

/** Throws `otherwise` unless these commits are here with their whole history. */
export async function requireWhole(
  dir: string,
  shas: Sha[],
  otherwise = 'The replica lacks objects of its refs.',
): Promise<void> {
  if (shas.length > 0 && !(await isWhole(dir, shas))) throw new Error(otherwise)
}

/** Fewer packs; objects that no ref has reached for two days go. A save of work that is under way has younger ones. */
export async function tidyReplica(dir: string, options: CallOptions = {}): Promise<void> {
  const repack = ['repack', '-d', '--cruft', '--cruft-expiration=2.days.ago', '--quiet', '--no-write-bitmap-index']
  const call = { ...options, lane: 'network' as const, config: durable({ dir, remote: null }) }
  await withLock(dir, async () => {
    await git(dir, repack, { ...call, config: [...call.config, ...boundedPack] })
    await git(dir, ['pack-refs', '--all'], call)
  })
}

/** Takes the hidden refs of a folder, with their objects, into a mirror. */
export async function keepFromFolder(mirrorDir: string, from: string): Promise<void> {
  await withLock(mirrorDir, async () => {
    const source: Repository = {
      dir: mirrorDir,
      remote: { url: `file://${from}`, credential: null, allowProtocols: ['file'] },
    }
    if ((await objectFormat(mirrorDir)) !== (await objectFormat(from)) && (await packFiles(mirrorDir)).length === 0) {
      const made = await makeBare(mirrorDir, 'main', await objectFormat(from))
      await rm(mirrorDir, { recursive: true, force: true })
      await rename(made, mirrorDir)
    }
    const failed = await fetchRefspecs(source, ['+refs/svc/*:refs/svc/*'], {})
    if (failed !== null) throw new Error(`The copy could not be read: ${failed.reason}`)
    // They come back with the first fetch.
    await noteKeptRefs(mirrorDir, await notedKeptRefs(from))
  })
}

/** A pack that broke off fails in git, which checks its sum. */
function endedMeanwhile(): void {}

/** Tells a source that failed from a git that ended: the error of git's input is thrown into this, too. */
async function* watched(source: AsyncIterable<Uint8Array>, seen: { failure: Error | null }): AsyncIterable<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const failed = (error: Error) => {
    seen.failure = error
    throw error
  }
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await chunks.next().catch(failed)
      isOver = done === true
      if (isOver) return
      yield value
    }
  } finally {
    if (!isOver && seen.failure === null) await chunks.return?.()
  }
}
