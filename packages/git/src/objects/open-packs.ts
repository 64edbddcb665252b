import { createReadStream } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { git, startGit } from '../process/git.ts'

/** Size of one object's entry in a pack index: an id, a checksum, and an offset. */
export const indexBytesOfObject = 28

export async function packFiles(dir: string): Promise<string[]> {
  return readdir(join(dir, 'objects/pack')).catch(() => [])
}

/**
 * Moves the files of packs between two folders. Without its index no git reads a pack, so the index comes last to a
 * store, and leaves it first.
 */
export async function movePacks(names: string[], from: string, to: string, index: 'first' | 'last'): Promise<void> {
  const sign = index === 'last' ? 1 : -1
  for (const name of names.toSorted((a, b) => sign * (+a.endsWith('.idx') - +b.endsWith('.idx'))))
    await rename(join(from, name), join(to, name))
}

/**
 * Removes incomplete packs. A host may send less than it promised, and git considers everything in the store
 * complete. So this checks the packs added since `before` and removes those that reference missing objects. Other new
 * packs come from another server on the same folder, which fetched or repacked, and stay.
 */
export async function dropOpenPacks(dir: string, before: string[]): Promise<void> {
  const now = await packFiles(dir)
  const added = now.filter((name) => name.endsWith('.idx') && !before.includes(name))
  for (const index of added) {
    if (!(await isOpen(dir, index))) continue
    // The index first: without it no git reads the pack.
    const stem = index.slice(0, -'idx'.length)
    for (const name of [index, ...now.filter((one) => one.startsWith(stem) && one !== index)])
      await rm(join(dir, 'objects/pack', name), { force: true })
  }
}

/** Whether the pack references an object that is not in the store. A pack that cannot be checked stays. */
async function isOpen(dir: string, index: string): Promise<boolean> {
  const ids = await idsOfIndex(dir, join(dir, 'objects/pack', index))
  if (ids === null) return false
  const args = ['rev-list', '--objects', '--stdin', '--not', '--all', '--quiet']
  // 128: rev-list met a missing object.
  const walked = await git(dir, args, { input: `${ids.join('\n')}\n`, lane: 'network', accept: [0, 128] })
  return walked.code !== 0
}

/** null: the pack was removed by a concurrent repack. */
export async function idsOfIndex(dir: string, path: string): Promise<string[] | null> {
  const child = await startGit(dir, ['show-index'], { lane: 'network' })
  const fed = pipeline(createReadStream(path), child.stdin).catch((error: NodeJS.ErrnoException) => error.code ?? '')
  const lines: string[] = []
  let rest = ''
  for await (const chunk of child.stdout) {
    const parts = `${rest}${chunk as Buffer}`.split('\n')
    rest = parts.pop() ?? ''
    // `<offset> <id> (<checksum>)`
    for (const line of parts) lines.push(line.split(' ')[1] ?? '')
  }
  const { code } = await child.ended
  return (await fed) === 'ENOENT' || code !== 0 ? null : lines
}
