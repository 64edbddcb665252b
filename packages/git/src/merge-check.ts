import { randomUUID } from 'node:crypto'
import { splitFields } from './fields.ts'
import { git, GitError } from './git.ts'
import { pathText } from './paths.ts'
import { mergeBases } from './refs.ts'
import type { Repository, Sha } from './repository.ts'
import { askStanding } from './standing.ts'
import { Turns } from './turns.ts'

export interface MergeToCheck {
  baseSha: Sha
  headSha: Sha
  ancestor: Sha
  resultSha: Sha
}

interface Change {
  path: string
  /** Where a renamed file came from. */
  from: string | null
}

/**
 * Looks at a finished merge from outside, before any ref moves: against base it may differ only where head changed
 * something, against head only where base did. A merge computed on a wrong ancestor fails this. null: nothing wrong.
 */
export async function doubtAboutMerge(repo: Repository, merge: MergeToCheck): Promise<string | null> {
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
 * Two honest reasons are left: a change follows a file that the other side renamed, so it shows at a path its own side
 * never touched; and after a criss-cross there are several ancestors, each with a part of the reasons.
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

/** A path in `seen` that neither it nor, through renames, any of its other names has a reason in `reasons`. */
async function strayPath(seen: Change[], reasons: Change[], twins: Map<string, Set<string>>): Promise<string | null> {
  const turns = new Turns()
  const touched = new Set<string>()
  for (const { path, from } of reasons) {
    touched.add(path)
    if (from !== null) touched.add(from)
    if (turns.isOver) await turns.next()
  }
  for (const { path } of seen) {
    if (turns.isOver) await turns.next()
    if (touched.has(path)) continue
    if (![...(twins.get(path) ?? [])].some((twin) => touched.has(twin))) return path
  }
  return null
}

/** Every path with the names it is connected to by renames of either side. */
async function twinsOf(sides: Change[][]): Promise<Map<string, Set<string>>> {
  const turns = new Turns()
  const twins = new Map<string, Set<string>>()
  for (const changes of sides)
    for (const { path, from } of changes) {
      if (turns.isOver) await turns.next()
      if (from === null) continue
      const joined = new Set([...(twins.get(path) ?? [path]), ...(twins.get(from) ?? [from])])
      for (const name of joined) twins.set(name, joined)
    }
  return twins
}

/** Several comparisons in one child: each line asks for a commit against one other, as if that were its only parent. */
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
  // git hands on at once what is no id, and all answers before it.
  const end = `=${randomUUID()}\n`
  const standing = await askStanding(repo, { name: args.join(' '), args }, `${input}${end}`, (bytes) =>
    bytes.subarray(-end.length).toString('latin1') === end ? bytes.subarray(0, -end.length) : undefined,
  )
  const stdout = standing ?? (await git(repo.dir, args, { input, bytesMax: 256 * 1024 * 1024 })).stdout
  const answers = await readComparisons(stdout)
  if (answers.length === pairs.length) return answers
  throw new GitError('exit', 'git diff-tree gave other answers than it was asked for.')
}

export async function readComparisons(stdout: Buffer): Promise<Change[][]> {
  const turns = new Turns()
  const answers: Change[][] = []
  const fields = await splitFields(stdout)
  for (let at = 0; at < fields.length - 1;) {
    if (turns.isOver) await turns.next()
    const field = fields[at++] ?? ''
    if (!field.startsWith(':')) {
      // The id of the commit: the next answer begins.
      answers.push([])
      continue
    }
    const isRename = /[RC]\d*$/.test(field)
    const first = fields[at++] ?? ''
    answers.at(-1)?.push(isRename ? { path: fields[at++] ?? '', from: first } : { path: first, from: null })
  }
  return answers
}
