/** Replaces lines of files in a new commit, without a work tree. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readFileAt } from '../diff/browse.ts'
import { pathBytes } from '../formats/paths.ts'
import { keepLooseObjects } from '../objects/loose-object.ts'
import { writeCommit } from '../objects/write-commit.ts'
import { git, gitLine } from '../process/git.ts'
import { objectFormat } from '../process/object-format.ts'
import { makeRoom, withScratch } from '../process/scratch.ts'
import type { Person } from '../refs/refs.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

export interface LineEdit {
  path: string
  /** The first and the last replaced line, counted from 1. */
  first: number
  last: number
  lines: readonly string[]
}

/** Why an edit cannot be made; `at` is its index. */
export interface EditRefusal {
  kind: 'missing' | 'not-text' | 'too-large' | 'past-end' | 'overlap'
  at: number
}

export interface EditedCommit {
  sha: Sha
  treeSha: Sha
  /** A repository that has the new objects and borrows all others. It exists only during the call. */
  room: Repository
  /** Bytes of the new files. */
  bytes: number
  /** Moves the objects into the repository. Returns their ids. */
  keep: () => Promise<Sha[]>
}

export interface EditLines {
  parent: Sha
  edits: readonly LineEdit[]
  message: string
  author: Person
  committer: Person
  at: Date
}

/** Calls `work` with the commit, whose tree is that of `parent` when the edits change nothing. */
export async function editLines<T>(
  repo: Repository,
  input: EditLines,
  work: (edited: EditedCommit) => Promise<T>,
  options: CallOptions = {},
): Promise<{ kind: 'done'; value: T } | EditRefusal> {
  const files = await editedFiles(repo, input, options)
  if (!Array.isArray(files)) return files
  return withScratch(repo.dir, async (scratch) => {
    const dir = join(scratch, 'room')
    await mkdir(dir)
    await makeRoom(dir, { borrowsFrom: repo.dir, format: await objectFormat(repo.dir) })
    await writeFile(join(dir, 'HEAD'), 'ref: refs/heads/none\n')
    const room: Repository = { dir, remote: null, group: repo.group }
    const treeSha = await writeTree(room, input.parent, files, options)
    const sha = await writeCommit(dir, { ...input, tree: treeSha }, options)
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
    const keep = () => keepLooseObjects(repo, join(dir, 'objects'), sha)
    return { kind: 'done', value: await work({ sha, treeSha, room, bytes, keep }) }
  })
}

interface EditedFile {
  path: string
  mode: string
  content: Buffer
}

async function editedFiles(
  repo: Repository,
  { parent, edits }: EditLines,
  options: CallOptions,
): Promise<EditedFile[] | EditRefusal> {
  const files: EditedFile[] = []
  const numbered = edits.map((edit, at) => ({ ...edit, at }))
  for (const [path, all] of Map.groupBy(numbered, (edit) => edit.path)) {
    const { at } = all[0]!
    const found = await readFileAt(repo, { sha: requireSha(parent), path }, options)
    if (found.kind !== 'file') return { kind: 'missing', at }
    if (found.truncated) return { kind: 'too-large', at }
    // A link's content is its target.
    if (found.binary || !found.mode.startsWith('100')) return { kind: 'not-text', at }
    const content = replaceLines(Buffer.from(found.content), all)
    if (!Buffer.isBuffer(content)) return content
    files.push({ path, mode: found.mode, content })
  }
  return files
}

/** Keeps the bytes of all other lines, the line ends of the file, and whether it ends with one. */
function replaceLines(file: Buffer, edits: readonly (LineEdit & { at: number })[]): Buffer | EditRefusal {
  // Latin-1 keeps every byte.
  const lines = file.toString('latin1').split(/(?<=\n)/)
  const parts: string[] = []
  let next = 0
  for (const { first, last, lines: replacement, at } of edits.toSorted((a, b) => a.first - b.first)) {
    if (first - 1 < next) return { kind: 'overlap', at }
    if (last > lines.length || last < first || file.length === 0) return { kind: 'past-end', at }
    const end = /\r?\n$/.exec(lines[first - 1]!)?.[0] ?? (lines[0]!.endsWith('\r\n') ? '\r\n' : '\n')
    const isLast = last === lines.length && !lines[last - 1]!.endsWith('\n')
    const bytes = replacement.map((line) => Buffer.from(line).toString('latin1'))
    parts.push(...lines.slice(next, first - 1), bytes.join(end))
    if (bytes.length > 0 && !isLast) parts.push(end)
    next = last
  }
  return Buffer.from([...parts, ...lines.slice(next)].join(''), 'latin1')
}

/** Through an index of its own, which git fills without reading a file. */
async function writeTree(room: Repository, parent: Sha, files: EditedFile[], options: CallOptions): Promise<Sha> {
  const index = { ...options, env: { GIT_INDEX_FILE: join(room.dir, 'index') } }
  await git(room.dir, ['read-tree', requireSha(parent)], index)
  const entries: Buffer[] = []
  for (const { path, mode, content } of files) {
    const blob = await gitLine(room.dir, ['hash-object', '-w', '--stdin'], { ...options, input: content })
    entries.push(Buffer.from(`${mode} ${requireSha(blob)}\t`), pathBytes(path), Buffer.of(0))
  }
  await git(room.dir, ['update-index', '-z', '--index-info'], { ...index, input: Buffer.concat(entries) })
  return requireSha(await gitLine(room.dir, ['write-tree'], index))
}
