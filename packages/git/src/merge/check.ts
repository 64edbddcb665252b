import { randomUUID } from 'node:crypto'
import { splitFields } from '../formats/nul-fields.ts'
import { git, GitError } from '../process/git.ts'
import { pathText } from '../formats/paths.ts'
import { mergeBases } from '../refs/refs.ts'
import type { Repository, Sha } from '../repository.ts'
import { queryPooledGit } from '../process/pooled-git.ts'
import { CooperativeYield } from '../formats/cooperative-yield.ts'

interface MergeToCheck {
  baseSha: Sha
  headSha: Sha
  ancestor: Sha
  resultSha: Sha
}

interface Change {
  path: string
  /** The old path of a renamed file. */
  from: string | null
}

/**
 * Verifies a finished merge before any ref moves: it may differ from base only where head changed something, and from
 * head only where base did. A merge with a wrong ancestor fails this. null: verified.
 */
export async function mergeVerificationFailure(repo: Repository, merge: MergeToCheck): Promise<string | null> {
  const { baseSha, headSha, ancestor, resultSha } = merge
  const [byHead = [], byBase = [], overBase = [], overHead = []] = await compare(
    repo,
    ['--no-renames'],
    [
      [headSha, ancestor],
      [baseSha, ancestor],
      [resultSha, baseSha],
      [resultSha, headSha],
    ],
  )
  if ((await findStray({ byHead, byBase, overBase, overHead })) === null) return null
  const stray = await findStray({ overBase, overHead, ...(await honestReasons(repo, merge)) })
  if (stray === null) return null
  return `The merge result differs at ${JSON.stringify(pathText(Buffer.from(stray, 'latin1')))}, where the merged branch changed nothing.`
}

const ancestorsMax = 16

/**
 * Two valid reasons remain: a change follows a file that the other side renamed, so it appears at a path that its own
 * side never touched; and after a criss-cross merge there are several ancestors, each with part of the reasons.
 */
async function honestReasons(
  repo: Repository,
  { baseSha, headSha }: MergeToCheck,
): Promise<{ byHead: Change[]; byBase: Change[] }> {
  const ancestors = (await mergeBases(repo, baseSha, headSha)).slice(0, ancestorsMax)
  const since = async (commit: Sha) => {
    const pairs = ancestors.map((ancestor): [Sha, Sha] => [commit, ancestor])
    return (await compare(repo, ['--find-renames=50%', '-l7000'], pairs)).flat()
  }
  return { byHead: await since(headSha), byBase: await since(baseSha) }
}

export type Changes = Record<'byHead' | 'byBase' | 'overBase' | 'overHead', Change[]>

export async function findStray({ byHead, byBase, overBase, overHead }: Changes): Promise<string | null> {
  const twins = await twinsOf([byHead, byBase])
  return (await strayPath(overBase, byHead, twins)) ?? strayPath(overHead, byBase, twins)
}

/** A path in `seen` for which neither it nor any of its other names through renames is in `reasons`. */
async function strayPath(seen: Change[], reasons: Change[], twins: Map<string, Set<string>>): Promise<string | null> {
  const yields = new CooperativeYield()
  const touched = new Set<string>()
  for (const { path, from } of reasons) {
    touched.add(path)
    if (from !== null) touched.add(from)
    if (yields.isDue) await yields.next()
  }
  for (const { path } of seen) {
    if (yields.isDue) await yields.next()
    if (touched.has(path)) continue
    if (![...(twins.get(path) ?? [])].some((twin) => touched.has(twin))) return path
  }
  return null
}

/** Every path with the names that renames of either side connect it to. */
async function twinsOf(sides: Change[][]): Promise<Map<string, Set<string>>> {
  const yields = new CooperativeYield()
  const twins = new Map<string, Set<string>>()
  for (const changes of sides)
    for (const { path, from } of changes) {
      if (yields.isDue) await yields.next()
      if (from === null) continue
      const joined = new Set([...(twins.get(path) ?? [path]), ...(twins.get(from) ?? [from])])
      for (const name of joined) twins.set(name, joined)
    }
  return twins
}

/**
 * Several comparisons in one process: each line compares a commit with another one, as if that were its only parent.
 */
async function compare(repo: Repository, flags: string[], pairs: [Sha, Sha][]): Promise<Change[][]> {
  const args = [
    'diff-tree',
    '--stdin',
    '--always',
    '-r',
    '--raw',
    '-z',
    ...flags,
    '--no-ext-diff',
    '--ignore-submodules=none',
  ]
  const input = pairs.map(([commit, parent]) => `${commit} ${parent}\n`).join('')
  // git immediately echoes a line that is not an id, after all answers before it.
  const end = `=${randomUUID()}\n`
  const standing = await queryPooledGit(repo, { name: args.join(' '), args }, `${input}${end}`, (bytes) =>
    bytes.subarray(-end.length).toString('latin1') === end ? bytes.subarray(0, -end.length) : undefined,
  )
  const stdout = standing ?? (await git(repo.dir, args, { input, bytesMax: 256 * 1024 * 1024 })).stdout
  const answers = await readComparisons(stdout)
  if (answers.length === pairs.length) return answers
  throw new GitError('exit', 'git diff-tree gave other answers than it was asked for.')
}

export async function readComparisons(stdout: Buffer): Promise<Change[][]> {
  const yields = new CooperativeYield()
  const answers: Change[][] = []
  const fields = await splitFields(stdout)
  for (let at = 0; at < fields.length - 1;) {
    if (yields.isDue) await yields.next()
    const field = fields[at++] ?? ''
    if (!field.startsWith(':')) {
      // The id of the commit, where the next answer begins.
      answers.push([])
      continue
    }
    const isRename = /[RC]\d*$/.test(field)
    const first = fields[at++] ?? ''
    answers.at(-1)?.push(isRename ? { path: fields[at++] ?? '', from: first } : { path: first, from: null })
  }
  return answers
}
