/** A whole copy of a repository on another server of ours: every ref, hidden ones too, and commits that no ref reaches. */
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPaths } from '../objects/durable.ts'
import { orIfAbsent } from '../process/absent.ts'
import { git, GitError, gitLines, type GitOptions } from '../process/git.ts'
import { objectFormat, type ObjectFormat } from '../process/object-format.ts'
import { isRefName } from '../refs/branch-name.ts'
import { isRootRef } from '../refs/root-refs.ts'
import { type CallOptions, isSha, type Remote, type Repository, type Sha } from '../repository.ts'
import { pointHead } from './head.ts'
import { makeBare, missingObjects } from './mirror.ts'

/** What a copy has to equal. */
export interface CopyManifest {
  format: ObjectFormat
  /** The ref that HEAD names. */
  head: string
  /** `target`: the other branch that a symbolic ref names. */
  refs: { ref: string; sha: Sha; target: string | null }[]
  /** Wanted commits that exist, whether or not a ref reaches them. */
  roots: Sha[]
  /** Small files of ours beside the objects. */
  notes: Record<string, string>
}

/** git counts the objects of a large repository before it sends the first. */
const silentSeconds = 300
/** A large repository takes long over a slow network. */
const fetchMsMax = 60 * 60_000
/** Kept refs of an emptied mirror, and replaced snapshots that are due to be pruned. */
const noteNames = ['svc-kept-refs', 'svc-replaced-work']
const rootsAtOnce = 500

/** Null: there is no repository, such as a mirror that was never fetched. */
export async function readCopyManifest(dir: string, roots: Sha[] = []): Promise<CopyManifest | null> {
  const headText = await readFile(join(dir, 'HEAD'), 'utf8').catch(orIfAbsent(null))
  if (headText === null) return null
  const lines = await gitLines(dir, ['for-each-ref', '--format=%(objectname) %(refname) %(symref)'], {
    lane: 'network',
    bytesMax: refsBytesMax,
  })
  const missing = new Set(roots.length === 0 ? [] : await missingObjects({ dir, remote: null }, roots))
  const notes: Record<string, string> = {}
  for (const name of noteNames) {
    const text = await readFile(join(dir, name), 'utf8').catch(orIfAbsent(null))
    if (text !== null) notes[name] = text
  }
  return {
    format: await objectFormat(dir),
    head: headText.trim().replace(/^ref: /, ''),
    refs: lines.flatMap((line) => {
      const [sha = '', ref = '', target = ''] = line.split(' ')
      return isRootRef(ref) ? [] : [{ ref, sha, target: target === '' ? null : target }]
    }),
    roots: roots.filter((sha) => !missing.has(sha)),
    notes,
  }
}

/** A million refs. */
const refsBytesMax = 256 * 1024 * 1024

/** Whether a copy has the same refs and HEAD. */
export function isSameCopy(one: CopyManifest, other: CopyManifest): boolean {
  const text = ({ head, refs }: CopyManifest) =>
    [head, ...refs.map(({ ref, sha, target }) => `${ref} ${sha} ${target ?? ''}`).toSorted()].join('\n')
  return one.format === other.format && text(one) === text(other)
}

/**
 * Brings the copy in `dir` to the state of `from`, which `manifest` describes; makes it first when it is missing. May be
 * repeated: a later pass moves only what changed. Returns the wanted commits that the other server could not send.
 * Each fetch asks `from` for its remote, because a credential may not last as long as the fetch before it.
 */
export async function fetchCopy(
  dir: string,
  from: () => Remote,
  manifest: CopyManifest,
  options: CallOptions & { config?: [string, string][] } = {},
): Promise<{ unreadable: Sha[] }> {
  await openCopy(dir, manifest)
  const call: GitOptions = {
    ...options,
    lane: 'network',
    timeoutMs: fetchMsMax,
    silentSeconds,
    config: [
      ...(options.config ?? []),
      // What our own repository holds was accepted once. A later check must not refuse to move it.
      ['transfer.fsckObjects', 'false'],
      ['fetch.fsckObjects', 'false'],
      ['fetch.unpackLimit', '1'],
      ['core.fsync', 'objects,derived-metadata,reference'],
    ],
  }
  await dropSymbolicRefs(dir)
  const always = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const fetch = (flags: string[], wanted: string[]) => {
    const remote = from()
    return git(dir, ['fetch', ...always, ...flags, '--', remote.url, ...wanted], { ...call, remote })
  }
  await fetch(['--prune'], ['+refs/*:refs/*'])
  const unreadable: Sha[] = []
  const repo: Repository = { dir, remote: null }
  const missing = manifest.roots.length === 0 ? [] : await missingObjects(repo, manifest.roots)
  for (let at = 0; at < missing.length; at += rootsAtOnce) {
    const batch = missing.slice(at, at + rootsAtOnce)
    if (await worked(fetch([], batch))) continue
    for (const sha of batch) if (!(await worked(fetch([], [sha])))) unreadable.push(sha)
  }
  return { unreadable }
}

/** False: git of the other server could not send it, such as a commit whose parents are gone. */
async function worked(fetching: Promise<unknown>): Promise<boolean> {
  try {
    await fetching
    return true
  } catch (error) {
    if (error instanceof GitError && error.failure === 'exit') return false
    throw error
  }
}

function requireRefName(ref: string): string {
  if (!isRefName(ref)) throw new TypeError(`Not a ref: ${ref}`)
  return ref
}

/** git syncs no symbolic ref. */
async function pointRef(dir: string, ref: string, target: string): Promise<void> {
  await git(dir, ['symbolic-ref', requireRefName(ref), requireRefName(target)])
  await syncPaths([join(dir, ref), dirname(join(dir, ref))])
}

/** After the last pass: symbolic refs, HEAD and our own files, so that the copy equals its source. */
export async function finishCopy(dir: string, manifest: CopyManifest): Promise<void> {
  for (const { ref, target } of manifest.refs) if (target !== null) await pointRef(dir, ref, target)
  if (manifest.head.startsWith('refs/')) await pointHead(dir, requireRefName(manifest.head))
  for (const name of noteNames) {
    const text = manifest.notes[name]
    if (text === undefined) await rm(join(dir, name), { force: true })
    else await writeFile(join(dir, name), text)
  }
  await git(dir, ['commit-graph', 'write', '--reachable'], { lane: 'network' })
}

/** Puts a finished copy where the server looks for it, and returns once it is on the disk. */
export async function placeCopy(made: string, dir: string): Promise<void> {
  await mkdir(dirname(dir), { recursive: true })
  const entries = await readdir(made, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => join(entry.parentPath, entry.name))
  // git has synced the objects and refs that it wrote; the folders and our own files are left.
  await syncPaths([made, ...paths], { mayBeGone: true })
  await rename(made, dir)
  await syncPaths([dirname(dir), dirname(made)])
}

/** Makes the repository unless it is there. */
export async function openCopy(dir: string, { format, head }: CopyManifest): Promise<void> {
  const isThere = await access(join(dir, 'HEAD')).then(
    () => true,
    () => false,
  )
  if (isThere && (await objectFormat(dir)) === format) return
  await rm(dir, { recursive: true, force: true })
  await mkdir(dirname(dir), { recursive: true })
  const branch = head.startsWith('refs/heads/') ? head.slice('refs/heads/'.length) : 'main'
  await rename(await makeBare(dir, branch, format), dir)
}

/** A fetch would write through them, to the branch that they name. */
async function dropSymbolicRefs(dir: string): Promise<void> {
  for (const line of await gitLines(dir, ['for-each-ref', '--format=%(refname) %(symref)'])) {
    const [ref = '', target = ''] = line.split(' ')
    if (target !== '') await git(dir, ['symbolic-ref', '--delete', ref])
  }
}

/** What another server of ours sent, checked before it reaches git. Null: not a manifest. */
export function parseCopyManifest(value: unknown): CopyManifest | null {
  const { format, head, refs, roots, notes } = (value ?? {}) as Partial<CopyManifest>
  if ((format !== 'sha1' && format !== 'sha256') || typeof head !== 'string') return null
  if (!Array.isArray(refs) || !Array.isArray(roots) || typeof notes !== 'object' || notes === null) return null
  if (!roots.every((sha) => typeof sha === 'string' && isSha(sha))) return null
  return { format, head, refs, roots, notes }
}
