/** Refs that the service keeps in a mirror besides the host's: the commits of merged changes, and unfinished work. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRefName } from './branch-name.ts'
import { gitLine } from '../process/git.ts'
import { moveRefs } from './refs.ts'
import { isSha, zeroSha, type RefValue, type Repository, type Sha } from '../repository.ts'

const fileName = 'svc-kept-refs'

export async function listKeptRefs(dir: string): Promise<RefValue[]> {
  const text = await gitLine(dir, ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/svc'])
  return [...parse(text), ...(await notedKeptRefs(dir))]
}

/** The same for a store that git cannot read, from its files. */
export async function keptRefsOnDisk(dir: string): Promise<RefValue[]> {
  const packed = await readFile(join(dir, 'packed-refs'), 'utf8').catch(() => '')
  const found = new Map(parse(packed).map(({ ref, sha }) => [ref, sha]))
  const loose = await readdir(join(dir, 'refs/svc'), { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of loose.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const [{ ref, sha } = { ref: '', sha: '' }] = parse(
      `${(await readFile(path, 'utf8').catch(() => '')).trim()} ${path.slice(join(dir, '/').length)}`,
    )
    if (ref !== '') found.set(ref, sha)
  }
  return [...found].map(([ref, sha]) => ({ ref, sha })).concat(await notedKeptRefs(dir))
}

/** Records the refs of an emptied mirror until their commits are fetched again. */
export async function noteKeptRefs(dir: string, refs: RefValue[]): Promise<void> {
  if (refs.length > 0) await writeFile(join(dir, fileName), refs.map(({ ref, sha }) => `${sha} ${ref}\n`).join(''))
}

export async function forgetNotedRefs(dir: string): Promise<void> {
  await rm(join(dir, fileName), { force: true })
}

/** Sets the recorded refs whose commits exist again. The others stay recorded. */
export async function restoreKeptRefs(repo: Repository, missingOf: (shas: Sha[]) => Promise<Sha[]>): Promise<void> {
  const waiting = await notedKeptRefs(repo.dir)
  if (waiting.length === 0) return
  const missing = new Set(await missingOf(waiting.map(({ sha }) => sha)))
  const back = waiting.filter(({ sha }) => !missing.has(sha))
  if (back.length > 0) {
    const updates = back.map(({ ref, sha }) => ({ ref, oldSha: zeroSha(sha), newSha: sha }))
    // A ref that already exists was set again by a caller that needed it.
    if ((await moveRefs(repo, updates)).kind !== 'moved') for (const update of updates) await moveRefs(repo, [update])
  }
  const left = waiting.filter(({ sha }) => missing.has(sha))
  if (left.length === 0) await forgetNotedRefs(repo.dir)
  else await noteKeptRefs(repo.dir, left)
}

/** The recorded refs of an emptied mirror, whose commits its host has. */
export async function notedKeptRefs(dir: string): Promise<RefValue[]> {
  return parse(await readFile(join(dir, fileName), 'utf8').catch(() => ''))
}

function parse(text: string): RefValue[] {
  const pairs = text.split('\n').map((line) => ({ sha: line.split(' ')[0] ?? '', ref: line.split(' ')[1] ?? '' }))
  return pairs.filter(({ ref, sha }) => isSha(sha) && isRefName(ref) && ref.startsWith('refs/svc/'))
}
