/** Unfinished work of a session: received from a sandbox, kept under a hidden ref, returned as a bundle. */
import { streamChild } from '../process/child-stream.ts'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDiskFull } from '../process/disk-full.ts'
import { GitError, gitLines, startGit } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { missingObjects } from './mirror.ts'
import { packFiles } from '../objects/open-packs.ts'
import { sizeOf } from '../objects/store-size.ts'
import { tidyAfter } from './tidy.ts'
import { keepReceivedObjects, receivePush } from '../receive/receive.ts'
import { keepRef } from '../refs/refs.ts'
import { requireSha, zeroSha, type Repository, type Sha } from '../repository.ts'
import { withScratch } from '../process/scratch.ts'

export type KeepWorkOutcome =
  | { kind: 'kept'; bytes: number }
  /** It is larger than `bytesMax`. */
  | { kind: 'too-large' }
  | { kind: 'refused'; reason: string }

/**
 * Receives a sandbox's pack and keeps its commit as `refs/svc/<name>`. It is checked like a push: format, size, and
 * connection to our objects. It goes only into our store, also for a mirror; and since no host has it, it is written
 * as durably as a managed repository.
 */
export async function keepWork(
  repo: Repository,
  work: { name: string; commit: Sha; pack: AsyncIterable<Uint8Array>; bytesMax: number; signal: AbortSignal },
): Promise<KeepWorkOutcome> {
  const own: Repository = { dir: repo.dir, remote: null }
  const updates = [{ ref: 'refs/heads/work', oldSha: zeroSha(work.commit), newSha: requireSha(work.commit) }]
  const outcome = await withScratch(repo.dir, async (room): Promise<KeepWorkOutcome> => {
    const counted = cutAfter(work.pack, work.bytesMax)
    const push = { updates, capabilities: new Set(['report-status']), pack: counted.pack }
    const report = await receivePush(own, room, push, {
      signal: work.signal,
      packBytesMax: work.bytesMax + slackBytes,
      fileBytesMax: work.bytesMax + slackBytes,
      isUnfinished: true,
    })
    if (counted.isCut() || report.isTooLarge) return { kind: 'too-large' }
    requireRoomFor(report)
    if (report.unpack !== 'ok') return { kind: 'refused', reason: report.unpack }
    const reason = report.refs.get('refs/heads/work')
    if (reason !== null) return { kind: 'refused', reason: reason ?? 'git did not report the result.' }
    // Completed with our objects that it builds on, the pack is larger than what was sent.
    const bytes = await sizeOf((await packFiles(room)).map((name) => join(room, 'objects/pack', name)))
    if (bytes > work.bytesMax) return { kind: 'too-large' }
    await withLock(repo.dir, () => keepReceivedObjects(own, room))
    await keepRef(own, work.name, work.commit)
    return { kind: 'kept', bytes }
  })
  if (outcome.kind === 'kept') await tidyAfter(own, 0)
  return outcome
}

/** receive-pack survives a full disk and reports it like a pack that it refuses. */
function requireRoomFor({ unpack }: { unpack: string }): void {
  const error = new GitError('exit', `git receive-pack failed: ${unpack}`, { stderr: unpack })
  if (isDiskFull(error)) throw error
}

/** For the files next to a pack that just fits. */
const slackBytes = 1024 * 1024

function cutAfter(pack: AsyncIterable<Uint8Array>, bytesMax: number) {
  let bytes = 0
  const cut = async function* () {
    for await (const chunk of pack) {
      bytes += chunk.length
      if (bytes > bytesMax) return
      yield chunk
    }
  }
  return { pack: cut(), isCut: () => bytes > bytesMax }
}

/** The refs `refs/svc/wip/…` and `refs/svc/wip-earlier/…`, named as for `keepWork`. None without a store. */
export async function listKeptWork(repo: Repository): Promise<{ name: string; commit: Sha }[]> {
  if ((await stat(repo.dir).catch(() => null)) === null) return []
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/svc/wip', 'refs/svc/wip-earlier']
  return (await gitLines(repo.dir, args)).map((line) => {
    const [commit = '', ref = ''] = line.split(' ')
    return { name: ref.slice('refs/svc/'.length), commit }
  })
}

const headerBytesMax = 1024 * 1024

/**
 * The commit under `refs/svc/<name>` as a bundle, without the commits in `have`. Unknown ids in `have` are ignored.
 * Null when git finds no such commit under that name: a save may have moved the ref. A stream that is returned has
 * begun with the commit.
 */
export async function bundleWork(
  repo: Repository,
  work: { name: string; commit: Sha; have: Sha[]; signal: AbortSignal },
): Promise<ReadableStream<Uint8Array> | null> {
  work.have.forEach(requireSha)
  const missing = new Set(work.have.length === 0 ? [] : await missingObjects(repo, work.have))
  // git refuses to make an empty bundle, also for a caller that has the commit already.
  const known = work.have.filter((sha) => !missing.has(sha) && sha !== work.commit)
  const args = ['bundle', 'create', '--quiet', '-', `refs/svc/${work.name}`, ...known.map((sha) => `^${sha}`)]
  const child = await startGit(repo.dir, args, { lane: 'serve', signal: work.signal })
  child.stdin.end()
  const stream = streamChild(child, { args })
  const reader = stream.getReader()
  const header = await readHeader(reader)
  if (!header.toString('latin1').includes(`\n${work.commit} `)) {
    await reader.cancel().catch(gitHasFailed)
    return null
  }
  return startingWith(header, reader)
}

/** The first bytes of a bundle, which name its commits. Fewer when git fails. */
async function readHeader(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Buffer> {
  let header = Buffer.alloc(0)
  try {
    while (header.length < headerBytesMax && !header.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) break
      header = Buffer.concat([header, value])
    }
  } catch {
    gitHasFailed()
  }
  return header
}

/** The ref or its objects are not there; the caller looks elsewhere. */
function gitHasFailed(): void {}

function startingWith(first: Uint8Array, reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(first),
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
