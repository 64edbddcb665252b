import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hiddenRefs } from './gate.ts'
import { explainEnd, lastMessage, startGit, type GitChild } from '../process/git.ts'
import { objectFormat } from '../process/object-format.ts'
import { readReport, refuseAll, type PushReport } from './push-report.ts'
import { writeCommandList, type PushRequest } from './push-request.ts'
import { durable } from '../objects/durable.ts'
import { indexBytesOfObject, movePacks } from '../objects/open-packs.ts'
import { sizeOf } from '../objects/store-size.ts'
import { makeRoom } from '../process/scratch.ts'
import { isZero, type Repository } from '../repository.ts'

interface ReceiveOptions {
  allowForce?: boolean
  allowDelete?: boolean
  packBytesMax?: number
  /** Limit for one unpacked file of the push. */
  fileBytesMax?: number
  /** A snapshot of a work tree, which no server checks out: its files may be unusual. */
  isUnfinished?: boolean
  signal: AbortSignal
}

/** Complaints about files with names special to git, and about the people of a commit that is never pushed. */
const oddInWorkTrees = [
  ...['gitmodulesBlob', 'gitmodulesLarge', 'gitmodulesMissing', 'gitmodulesName', 'gitmodulesParse', 'gitmodulesPath'],
  ...['gitmodulesSymlink', 'gitmodulesUpdate', 'gitmodulesUrl', 'badEmail', 'missingEmail', 'missingNameBeforeEmail'],
]

const packBytesMaxDefault = 2 * 1024 ** 3

/**
 * Receives a push into a temporary bare repository inside ours, which borrows all our objects and has only the refs
 * of the command list, at the pusher's old values. receive-pack runs all its checks there (format, connection to our
 * objects, fast-forward), while none of our refs can move. Landing the updates then checks the old values.
 */
export async function receivePush(
  repo: Repository,
  room: string,
  push: PushRequest,
  options: ReceiveOptions,
): Promise<PushReport> {
  await prepareRoom(repo, room, push)
  const child = await startGit(room, ['receive-pack', '--stateless-rpc', room], {
    lane: 'push',
    group: repo.group,
    signal: options.signal,
    config: receiveConfig(repo, options),
    ...(options.fileBytesMax === undefined ? {} : { limits: { fileBytes: options.fileBytesMax } }),
  })
  const output = collect(child)
  const fed = feed(child, push)
  // When the client disconnects, this rejects before the process ends. The await below reports it.
  fed.catch(reportedBelow)
  const [bytes, end] = await Promise.all([output, child.ended])
  // The pusher's connection may have broken; that error explains more.
  await fed
  const report = readReport(bytes)
  if (push.isShallow && lacksHistory(report, end.stderr)) return refuseAll(push, shallowReason)
  if (report?.unpack === 'ok') return report
  if (report) {
    const unpack = inOwnWords(report.unpack, end.stderr, room)
    return { ...report, unpack, isTooLarge: tooLargeFile.test(end.stderr) }
  }
  const failure = explainEnd(['receive-pack'], end, [0])
  if (failure && failure.failure !== 'exit') throw failure
  return {
    unpack: lastMessage(end.stderr.replaceAll(room, '')),
    refs: new Map(push.updates.map(({ ref }) => [ref, 'unpacker error'])),
    remarks: [],
  }
}

/** git says it only in these messages: that of index-pack, and that of receive-pack for what index-pack did not check. */
function lacksHistory(report: PushReport | null, stderr: string): boolean {
  const reasons = [...(report?.refs.values() ?? [])]
  return reasons.includes('missing necessary objects') || /^fatal: did not receive expected object /m.test(stderr)
}

const shallowReason =
  'The clone is shallow, and this repository does not have the history that it lacks. Run `git fetch --unshallow`, then push again.'

/** The await of the same promise reports the error. */
function reportedBelow(): void {}

/** Killed by the kernel with SIGXFSZ; receive-pack survives and only prints a message. */
const tooLargeFile = /died of signal 25\b/

/** receive-pack reports only which helper failed; the helper's own message has the reason. */
function inOwnWords(unpack: string, stderr: string, room: string): string {
  const explains = stderr.split('\n').some((line) => /^(?:fatal|error):/.test(line))
  return explains ? `${unpack}: ${lastMessage(stderr.replaceAll(room, ''))}` : unpack
}

async function prepareRoom(repo: Repository, room: string, { updates }: PushRequest): Promise<void> {
  await makeRoom(room, { borrowsFrom: repo.dir, format: await objectFormat(repo.dir) })
  const packed = updates.filter(({ oldSha }) => !isZero(oldSha)).map(({ ref, oldSha }) => `${oldSha} ${ref}\n`)
  await Promise.all([
    writeFile(join(room, 'packed-refs'), packed.join('')),
    // Deleting the branch of HEAD stays forbidden even where deletes are allowed.
    readFile(join(repo.dir, 'HEAD')).then((head) => writeFile(join(room, 'HEAD'), head)),
  ])
}

function receiveConfig(repo: Repository, options: ReceiveOptions): [string, string][] {
  return [
    ...durable(repo),
    ...hiddenRefs.map((ref): [string, string] => ['transfer.hideRefs', ref]),
    ['receive.fsckObjects', 'true'],
    ['receive.maxInputSize', String(options.packBytesMax ?? packBytesMaxDefault)],
    ['receive.denyNonFastForwards', String(!options.allowForce)],
    ['receive.denyDeletes', String(!options.allowDelete)],
    ['receive.denyDeleteCurrent', 'refuse'],
    ['receive.advertisePushOptions', 'false'],
    ['receive.autogc', 'false'],
    ...(options.isUnfinished ? oddInWorkTrees : []).map((id): [string, string] => [`receive.fsck.${id}`, 'ignore']),
    // Always one pack, so that landing it is one rename.
    ['receive.unpackLimit', '1'],
    ['transfer.unpackLimit', '1'],
  ]
}

const passedOn = ['atomic', 'ofs-delta', 'delete-refs', 'quiet']

async function feed(child: GitChild, push: PushRequest): Promise<void> {
  const capabilities = ['report-status', ...passedOn.filter((word) => push.capabilities.has(word))]
  const format = [...push.capabilities].find((word) => word.startsWith('object-format='))
  if (format) capabilities.push(format)
  const { stdin } = child
  const gone = child.ended.then(() => 'gone' as const)
  const write = async (chunk: Uint8Array): Promise<boolean> => {
    if (stdin.destroyed || stdin.writableEnded) return false
    if (stdin.write(chunk)) return true
    return (
      (await Promise.race([
        new Promise<'drained'>((resolve) => stdin.once('drain', () => resolve('drained'))),
        gone,
      ])) === 'drained'
    )
  }
  try {
    let taking = await write(writeCommandList(push.updates, capabilities))
    // A process that failed early has printed its reason; the rest of the body is still read, or the pusher would see
    // a broken connection instead of the reply.
    for await (const chunk of push.pack) taking = taking && (await write(chunk))
    stdin.end()
  } catch (error) {
    child.kill('aborted')
    throw error
  }
}

async function collect(child: GitChild): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > 4 * 1024 * 1024) child.kill('output')
    else chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Moves received objects into the repository, the index last. Returns about how many objects came. */
export async function keepReceivedObjects(repo: Repository, room: string): Promise<number> {
  const from = join(room, 'objects/pack')
  const to = join(repo.dir, 'objects/pack')
  const names = (await readdir(from)).filter((name) => /^pack-.*\.(?:pack|rev|mtimes|idx)$/.test(name))
  const indexes = names.filter((name) => name.endsWith('.idx'))
  const indexBytes = await sizeOf(indexes.map((name) => join(from, name)))
  await movePacks(names, from, to, 'last')
  return Math.round(indexBytes / indexBytesOfObject)
}
