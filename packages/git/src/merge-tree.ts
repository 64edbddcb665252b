import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from './git.ts'
import { listAttributeFiles, writeAttributeFiles } from './merge-attributes.ts'
import { pathText } from './paths.ts'
import { isSha, requireSha, type Repository, type Sha } from './repository.ts'

export type MergeResult = { kind: 'clean'; treeSha: Sha } | { kind: 'conflicted'; files: string[] }

export interface MergeTreeInput {
  baseSha: Sha
  headSha: Sha
  /** A folder of the caller's own, for the work tree when one is needed. */
  scratch: string
  /** Where objects go; empty for the repository itself. */
  env: Record<string, string>
  config?: [string, string][]
}

/** Merges two commits as `git merge` in a clean work tree on base would. Touches no ref. */
export async function mergeTrees(repo: Repository, input: MergeTreeInput): Promise<MergeResult> {
  // Most repositories have no attributes, so the merge does not wait to learn that.
  const [attributes, plain] = await Promise.all([
    listAttributeFiles(repo, input.baseSha),
    runMergeTree(repo, input, null).catch((error: unknown) => error as Error),
  ])
  if (attributes.length === 0) {
    if (plain instanceof Error) throw plain
    return plain
  }
  const workTree = join(input.scratch, 'work')
  await mkdir(workTree, { recursive: true })
  await writeAttributeFiles(repo, attributes, workTree)
  return runMergeTree(repo, input, workTree)
}

async function runMergeTree(repo: Repository, input: MergeTreeInput, workTree: string | null): Promise<MergeResult> {
  const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories']
  const { code, stdout, stderr } = await git(
    repo.dir,
    [...args, requireSha(input.baseSha), requireSha(input.headSha)],
    {
      // 1: conflicts. Everything else throws; 134 is a crash.
      accept: [0, 1],
      env: { ...input.env, ...(workTree ? { GIT_WORK_TREE: workTree } : {}) },
      ...(workTree ? { cwd: workTree } : {}),
      ...(input.config ? { config: input.config } : {}),
    },
  )
  const fields = stdout.toString('latin1').split('\0')
  const treeSha = fields[0] ?? ''
  // git also ends with 1, and says nothing here, when it was given something it cannot merge.
  if (!isSha(treeSha)) throw new GitError('exit', `git merge-tree gave no result: ${stderr.trim()}`, { code, stderr })
  return code === 0 ? { kind: 'clean', treeSha } : { kind: 'conflicted', files: conflictedFiles(fields.slice(1)) }
}

interface Message {
  paths: string[]
  type: string
}

/** Conflicts about folders leave no file in conflict behind; only their message names a path. */
const unstagedTypes = new Set([
  'CONFLICT(directory rename unclear split)',
  'CONFLICT(directory rename collision)',
  'CONFLICT (file in way of directory rename)',
])

/** The paths that conflict, under the names they have in the branches. `fields` follow the tree id. */
function conflictedFiles(fields: string[]): string[] {
  const end = fields.indexOf('')
  // `<mode> <id> <stage>\t<path>`
  const staged = fields.slice(0, end).map((field) => field.slice(field.indexOf('\t') + 1))
  const conflicts = parseMessages(fields.slice(end + 1)).filter(({ type }) => type.startsWith('CONFLICT'))
  const originals = originalNames(conflicts)
  const files = new Set(staged.map((path) => originals.get(path) ?? path))
  const addFirst = ({ paths: [first] }: Message) => first !== undefined && files.add(originals.get(first) ?? first)
  conflicts.filter(({ type }) => unstagedTypes.has(type)).forEach(addFirst)
  // git can also warn of a conflict that then dissolves; such a message counts only when nothing else explains the end.
  if (files.size === 0) conflicts.forEach(addFirst)
  return [...files].map((path) => pathText(Buffer.from(path, 'latin1'))).sort()
}

/** `<count>\0<path>…\0<type>\0<text>\0`, repeated. */
function parseMessages(fields: string[]): Message[] {
  const messages: Message[] = []
  let at = 0
  while (at < fields.length && /^\d+$/.test(fields[at] ?? '')) {
    const count = Number(fields[at])
    const type = fields[at + 1 + count]
    if (type === undefined) throw new GitError('exit', 'git merge-tree answered with a message that is cut short.')
    messages.push({ paths: fields.slice(at + 1, at + 1 + count), type })
    at += count + 3
  }
  return messages
}

/** Where a file and a directory, or two kinds of file, want one name, git moves one aside to `path~label`. */
function originalNames(conflicts: Message[]): Map<string, string> {
  const originals = new Map<string, string>()
  for (const { type, paths } of conflicts) {
    const [first, ...others] = paths
    if (first === undefined) continue
    if (type === 'CONFLICT (file/directory)' && others[0] !== undefined) originals.set(first, others[0])
    if (type === 'CONFLICT (distinct modes)')
      for (const other of others) if (other.startsWith(`${first}~`)) originals.set(other, first)
  }
  return originals
}
