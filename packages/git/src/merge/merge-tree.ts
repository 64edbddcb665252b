import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { splitFields } from '../formats/nul-fields.ts'
import { git, GitError } from '../process/git.ts'
import { listAttributeFiles, writeAttributeFiles } from './attributes.ts'
import { conflictedFiles, filesOf, parseMessages, readStreamed, type StreamedResult } from '../formats/conflicts.ts'
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
}

export const mergeTreeArgs = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories']

/** Merges two commits like `git merge` in a clean work tree of base. Moves no ref. */
export async function mergeTrees(repo: Repository, input: MergeTreeInput): Promise<MergeResult> {
  const plain = await runMergeTree(repo, input, null)
  // Attributes decide how the two contents of a file merge. git reports every file whose contents it merged, except
  // while it joins several ancestors; when there is none, attributes cannot matter and are not read.
  if (plain.isSilent && (await mergeBases(repo, input.baseSha, input.headSha, { env: input.env })).length <= 1)
    return plain.result
  const workTree = await makeWorkTree(repo, input)
  return workTree === null ? plain.result : (await runMergeTree(repo, input, workTree)).result
}

/** A work tree with the base's attributes; null when it has none. */
async function makeWorkTree(repo: Repository, { baseSha, scratch, env }: Omit<MergeTreeInput, 'headSha'>) {
  const attributes = await listAttributeFiles(repo, baseSha, env)
  if (attributes.length === 0) return null
  // Several merges may share the temporary folder, each with the attributes of its own base.
  const workTree = join(scratch, `work-${baseSha}`)
  await mkdir(workTree, { recursive: true })
  await writeAttributeFiles(repo, attributes, workTree, env)
  return workTree
}

const inWorkTree = (env: Record<string, string>, workTree: string | null) => ({
  env: { ...env, ...(workTree ? { GIT_WORK_TREE: workTree } : {}) },
  ...(workTree ? { cwd: workTree } : {}),
})

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
    // 1: conflicts. Other codes throw; 134 is a crash.
    { accept: [0, 1], ...inWorkTree(input.env, workTree) },
  )
  const fields = await splitFields(stdout)
  const treeSha = fields[0] ?? ''
  // git also exits with 1, without output, for input that it cannot merge.
  if (!isSha(treeSha)) throw new GitError('exit', `git merge-tree gave no result: ${stderr.trim()}`, { code, stderr })
  if (code === 1)
    return { result: { kind: 'conflicted', files: await conflictedFiles(fields.slice(1)) }, isSilent: false }
  return { result: { kind: 'clean', treeSha }, isSilent: fields.slice(1).every((field) => field === '') }
}

/**
 * Merges several heads into one commit, each separately, in one process: on a large repository a merge spends most of
 * its time opening it. Results are in the order of the heads.
 */
export async function mergeEach(
  repo: Repository,
  input: Omit<MergeTreeInput, 'headSha'> & { headShas: Sha[] },
): Promise<MergeResult[]> {
  const baseSha = requireSha(input.baseSha)
  const { stdout } = await git(repo.dir, [...mergeTreeArgs, '--stdin'], {
    input: input.headShas.map((headSha) => `${baseSha} ${requireSha(headSha)}\n`).join(''),
    ...inWorkTree(input.env, await makeWorkTree(repo, input)),
  })
  return readResults(await splitFields(stdout), input.headShas.length)
}

async function readResults(fields: string[], count: number): Promise<MergeResult[]> {
  const results: MergeResult[] = []
  for (let at = 0; results.length < count;) {
    const result = readStreamed(fields, at)
    if (result === null) throw new GitError('exit', 'git merge-tree gave fewer results than it was asked for.')
    at = result.next
    results.push(await resultOf(result))
  }
  return results
}

export async function resultOf({ isClean, treeSha, records, messageFields }: StreamedResult): Promise<MergeResult> {
  if (isClean) return { kind: 'clean', treeSha }
  return { kind: 'conflicted', files: await filesOf(records, await parseMessages(messageFields)) }
}
