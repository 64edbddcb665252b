import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { splitFields } from '../formats/nul-fields.ts'
import { git, GitError } from '../process/git.ts'
import { listAttributeFiles, writeAttributeFiles } from './attributes.ts'
import { conflictedFiles } from '../formats/conflicts.ts'
import { mergeBases } from '../refs/refs.ts'
import { isSha, requireSha, type Repository, type Sha } from '../repository.ts'
import { borrowObjects, withScratch } from '../process/scratch.ts'

export type MergeResult = { kind: 'clean'; treeSha: Sha } | { kind: 'conflicted'; files: string[] }

export interface MergeTreeInput {
  baseSha: Sha
  headSha: Sha
  /** The caller's temporary folder, for the work tree when one is needed. */
  scratch: string
  /** Where objects go; empty for the repository itself. */
  env: Record<string, string>
  config?: [string, string][]
}

const mergeTreeArgs = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories']

/** Merges two commits like `git merge` in a clean work tree of base. Moves no ref. */
export async function mergeTrees(repo: Repository, input: MergeTreeInput): Promise<MergeResult> {
  const plain = await runMergeTree(repo, input, null)
  // Attributes decide how the two contents of a file merge. git reports every file whose contents it merged, except
  // while it joins several ancestors; when there is none, attributes cannot matter and are not read.
  if (plain.isSilent && (await mergeBases(repo, input.baseSha, input.headSha, { env: input.env })).length <= 1)
    return plain.result
  const attributes = await listAttributeFiles(repo, input.baseSha, input.env)
  if (attributes.length === 0) return plain.result
  const workTree = join(input.scratch, 'work')
  await mkdir(workTree, { recursive: true })
  await writeAttributeFiles(repo, attributes, workTree, input.env)
  return (await runMergeTree(repo, input, workTree)).result
}

/** The same in a temporary store. `keep` gets a clean result and the folder of its objects, which are discarded after. */
export function mergeInScratch(
  repo: Repository,
  { baseSha, headSha }: { baseSha: Sha; headSha: Sha },
  keep?: (treeSha: Sha, objectsDir: string) => Promise<void>,
): Promise<MergeResult> {
  return withScratch(repo.dir, async (scratch) => {
    const env = await borrowObjects(repo.dir, scratch)
    const result = await mergeTrees(repo, { baseSha, headSha, scratch, env })
    if (result.kind === 'clean') await keep?.(result.treeSha, env.GIT_OBJECT_DIRECTORY)
    return result
  })
}

async function runMergeTree(
  repo: Repository,
  input: MergeTreeInput,
  workTree: string | null,
): Promise<{ result: MergeResult; isSilent: boolean }> {
  const { code, stdout, stderr } = await git(
    repo.dir,
    [...mergeTreeArgs, requireSha(input.baseSha), requireSha(input.headSha)],
    {
      // 1: conflicts. Other codes throw; 134 is a crash.
      accept: [0, 1],
      env: { ...input.env, ...(workTree ? { GIT_WORK_TREE: workTree } : {}) },
      ...(workTree ? { cwd: workTree } : {}),
      ...(input.config ? { config: input.config } : {}),
    },
  )
  const fields = await splitFields(stdout)
  const treeSha = fields[0] ?? ''
  // git also exits with 1, without output, for input that it cannot merge.
  if (!isSha(treeSha)) throw new GitError('exit', `git merge-tree gave no result: ${stderr.trim()}`, { code, stderr })
  if (code === 1)
    return { result: { kind: 'conflicted', files: await conflictedFiles(fields.slice(1)) }, isSilent: false }
  return { result: { kind: 'clean', treeSha }, isSilent: fields.slice(1).every((field) => field === '') }
}
