/**
 * New objects for a replica as files of the object store, where their names are known: a merge wrote them as loose
 * objects, and a push arrived as one pack. Neither side starts git for them, which would cost more than the merge.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { syncPaths } from '../objects/durable.ts'
import { objectFormat, type ObjectFormat } from '../process/object-format.ts'
import { withScratch } from '../process/scratch.ts'
import { isSha, type Repository, type Sha } from '../repository.ts'
import { isAllThatChanged } from './changed-objects.ts'
import { isAllThatCopyLacks } from './pushed-objects.ts'

/** A file below `objects`, by its name there. */
export interface StoreFile {
  name: string
  bytes: Buffer
}

/** Larger changes go as a pack, which streams. */
const filesBytesMax = 4 * 1024 * 1024
const filesMax = 256

const looseName = /^([0-9a-f]{2})\/([0-9a-f]{38}|[0-9a-f]{62})$/
const packName = /^pack\/pack-([0-9a-f]{40}|[0-9a-f]{64})\.(pack|idx|rev)$/

/** The packs of a push in its folder, for a copy that has these commits. Null: it needs more than them, or they are too large. */
export async function packsOfPush(
  room: Repository,
  { commits, has }: { commits: Sha[]; has: Sha[] },
): Promise<StoreFile[] | null> {
  const names = (await readdir(join(room.dir, 'objects/pack'))).map((name) => `pack/${name}`)
  const files = await readFiles(
    room.dir,
    names.filter((name) => packName.test(name)),
  )
  if (files === null) return null
  const indexes = files.flatMap(({ name, bytes }) => (name.endsWith('.idx') ? [bytes] : []))
  return (await isAllThatCopyLacks(room, { commits, has, indexes })) ? files : null
}

/**
 * The loose objects that were written for a commit, for a copy that has its parents. Null: it needs more than them, one is
 * packed by now, or they are too large.
 */
export async function filesOfCommit(
  repo: Repository,
  { commit, parents, objects }: { commit: Sha; parents: Sha[]; objects: Sha[] },
): Promise<StoreFile[] | null> {
  const names = objects.filter(isSha).map((sha) => `${sha.slice(0, 2)}/${sha.slice(2)}`)
  const [files, isWhole] = await Promise.all([
    readFiles(repo.dir, names),
    isAllThatChanged(repo, { commit, parents, objects }),
  ])
  return isWhole ? files : null
}

async function readFiles(dir: string, names: string[]): Promise<StoreFile[] | null> {
  if (names.length > filesMax) return null
  const paths = names.map((name) => join(dir, 'objects', name))
  const sizes = await Promise.all(paths.map((path) => stat(path).then(({ size }) => size, orTooLarge)))
  if (sizes.reduce((sum, size) => sum + size, 0) > filesBytesMax) return null
  const files = await Promise.all(paths.map((path) => readFile(path).catch(whenGone)))
  return files.some((bytes) => bytes === null) ? null : files.map((bytes, at) => ({ name: names[at]!, bytes: bytes! }))
}

/** A file that is packed by now. */
function orTooLarge(error: NodeJS.ErrnoException): number {
  if (error.code === 'ENOENT') return Number.POSITIVE_INFINITY
  throw error
}

function whenGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** `<name> <size>\n<bytes>` for each. */
export function writeFiles(files: StoreFile[]): Buffer {
  return Buffer.concat(files.flatMap(({ name, bytes }) => [Buffer.from(`${name} ${bytes.length}\n`), bytes]))
}

function parseFiles(body: Buffer): StoreFile[] {
  const files: StoreFile[] = []
  for (let at = 0; at < body.length;) {
    const lineEnd = body.indexOf(10, at)
    const [name = '', size = ''] = lineEnd === -1 ? [] : body.toString('latin1', at, lineEnd).split(' ')
    const end = lineEnd + 1 + Number(size)
    if (!(looseName.test(name) || packName.test(name)) || !/^\d{1,9}$/.test(size) || end > body.length)
      throw new Error('The files of a replica are not framed as expected.')
    files.push({ name, bytes: body.subarray(lineEnd + 1, end) })
    at = end
  }
  return files
}

const inflated = promisify(inflate)

/** Stores files of `writeFiles`, each checked against its name. Resolves once they are on the disk. */
export async function keepReplicaFiles(dir: string, body: Buffer): Promise<void> {
  const files = parseFiles(body)
  const format = await objectFormat(dir)
  await Promise.all(files.map((file) => requireIntact(file, format)))
  await withScratch(dir, async (scratch) => {
    for (const { name } of files) {
      mkdirSync(dirname(join(scratch, name)), { recursive: true })
      mkdirSync(dirname(join(dir, 'objects', name)), { recursive: true })
    }
    await Promise.all(files.map(({ name, bytes }) => writeFile(join(scratch, name), bytes, { mode: 0o444 })))
    await syncPaths(files.map(({ name }) => join(scratch, name)))
    // Without its index no git reads a pack.
    const inOrder = files.toSorted((a, b) => +a.name.endsWith('.idx') - +b.name.endsWith('.idx'))
    for (const { name } of inOrder) await rename(join(scratch, name), join(dir, 'objects', name))
    await syncPaths([...new Set(files.map(({ name }) => dirname(join(dir, 'objects', name)))), join(dir, 'objects')])
  })
}

async function requireIntact({ name, bytes }: StoreFile, format: ObjectFormat): Promise<void> {
  const idBytes = format === 'sha256' ? 32 : 20
  const digest = (data: Buffer) => createHash(format).update(data).digest()
  const loose = looseName.exec(name)
  const isIntact =
    loose === null
      ? digest(bytes.subarray(0, -idBytes)).equals(bytes.subarray(-idBytes))
      : digest(await inflated(bytes)).toString('hex') === `${loose[1]}${loose[2]}`
  if (!isIntact) throw new Error(`The file ${name} for a replica is damaged.`)
}
