import { streamChild } from '../process/child-stream.ts'
import { type BinaryFile, DiffReader, type DiffFile } from './reader.ts'
import { git, GitError, startGit } from '../process/git.ts'
import { withMending } from '../mirror/repair.ts'
import { mergeBase } from '../refs/refs.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { SharedAnswers } from '../objects/shared-results.ts'

export interface Diff {
  base_sha: Sha
  head_sha: Sha
  merge_base: Sha | null
  files: DiffFile[]
  files_changed: number
  additions: number
  deletions: number
  patch: string
  truncated: boolean
  /** Files that were left out because only their whitespace changed; empty unless whitespace is ignored. */
  whitespace_only: string[]
}

export interface DiffPair {
  baseSha: Sha
  headSha: Sha
  /** Detects renames; otherwise a rename is a deleted and an added file. */
  renames?: boolean
  /** Lines that differ only in whitespace count as equal. */
  ignoreWhitespace?: boolean
}

const diffs = new SharedAnswers<Diff>(
  96 * 1024 * 1024,
  (diff) => 500 + 2 * diff.patch.length + 200 * (diff.files.length + diff.whitespace_only.length),
)
/** Together they fit into one reply. */
const timeoutMs = 5_000
const listTimeoutMs = 3_000
const patchMemoryBytes = 384 * 1024 * 1024

/** The changes of head since it left base. Depends only on the two commits, so it is computed once. */
export function diffCommits(repo: Repository, pair: DiffPair, options: CallOptions = {}): Promise<Diff> {
  const how = `${pair.renames ? 'R' : ''}${pair.ignoreWhitespace ? 'W' : ''}`
  const key = `${repo.dir}\0${requireSha(pair.baseSha)}${requireSha(pair.headSha)}${how}`
  return diffs.get(key, options, () => withMending(repo, () => workOutDiff(repo, pair)))
}

async function workOutDiff(repo: Repository, pair: DiffPair): Promise<Diff> {
  const ancestor = await mergeBase(repo, pair.baseSha, pair.headSha)
  const compared = await compareTrees(repo, ancestor, pair)
  return { base_sha: pair.baseSha, head_sha: pair.headSha, merge_base: ancestor, ...compared }
}

export type Compared = Omit<Diff, 'base_sha' | 'head_sha' | 'merge_base'>
type How = Omit<DiffPair, 'baseSha'>

/** `from` is a commit or a tree; without it everything is added. `env` is for a store outside the repository. */
export async function compareTrees(
  repo: Repository,
  from: Sha | null,
  how: How,
  env: Record<string, string> = {},
): Promise<Compared> {
  const whole = diffArgs(from, how, ['--raw', '--numstat', '--patch'])
  const read = await runDiff(repo, whole, { counted: true, timeoutMs, env }).catch((error: unknown) => {
    // Content can be crafted so that comparing it takes forever. The list of files never needs that.
    if (!isTooCostly(error)) throw error
    const args = diffArgs(from, { ...how, renames: false }, ['--raw'])
    return runDiff(repo, args, { counted: false, timeoutMs: listTimeoutMs, env })
  })
  await addSizes(repo, read.binaries, env)
  const sum = (count: (file: DiffFile) => number) => read.files.reduce((total, file) => total + count(file), 0)
  return {
    files: read.files,
    files_changed: read.files.length,
    additions: sum((file) => file.additions),
    deletions: sum((file) => file.deletions),
    patch: read.patch,
    truncated: read.truncated,
    whitespace_only: read.whitespaceOnly,
  }
}

/** Beyond this number, files keep no sizes. */
const sizedMax = 2_000

/** One question for all binary files; git does not read their content for it. */
async function addSizes(repo: Repository, binaries: BinaryFile[], env: Record<string, string>): Promise<void> {
  const sized = binaries.slice(0, sizedMax)
  if (sized.length === 0) return
  const input = sized.map(({ oldSha, newSha }) => `${oldSha}\n${newSha}\n`).join('')
  const { stdout } = await git(repo.dir, ['cat-file', '--batch-check=%(objecttype) %(objectsize)'], { input, env })
  const sizes = stdout
    .toString('latin1')
    .split('\n')
    .map((line) => {
      const size = /^blob (\d+)$/.exec(line)?.[1]
      return size === undefined ? null : Number(size)
    })
  for (const [at, { file }] of sized.entries()) {
    file.old_size = sizes[2 * at] ?? null
    file.new_size = sizes[2 * at + 1] ?? null
  }
}

export interface ChangedFiles {
  /** A renamed file has both of its paths. */
  paths: string[]
  /** How many files changed. A renamed one is one file, as in its diff. */
  files: number
  /** Null when content takes too long to compare. */
  additions: number | null
  deletions: number | null
}

/** The files that head changed since it left base, for a list. Renames are not detected when that takes too long. */
export async function changedFiles(repo: Repository, pair: DiffPair, options: CallOptions = {}): Promise<ChangedFiles> {
  const { baseSha, headSha } = pair
  const ancestor = await mergeBase(repo, requireSha(baseSha), requireSha(headSha), options)
  const diff = (parts: string[], counted: boolean) =>
    runDiff(repo, diffArgs(ancestor, { headSha, renames: counted }, parts), {
      ...{ counted, timeoutMs: listTimeoutMs, env: {} },
    })
  const read = await diff(['--raw', '--numstat'], true).catch((error: unknown) => {
    if (!isTooCostly(error)) throw error
    return diff(['--raw'], false)
  })
  const files = read.files.length
  const paths = read.files.flatMap(({ path, old_path }) => (old_path === null ? [path] : [path, old_path]))
  if (read.truncated) return { paths, files, additions: null, deletions: null }
  const sum = (side: 'additions' | 'deletions') => read.files.reduce((total, file) => total + file[side], 0)
  return { paths, files, additions: sum('additions'), deletions: sum('deletions') }
}

const isTooCostly = (error: unknown) =>
  error instanceof GitError && (error.failure === 'timeout' || error.failure === 'limit')

async function runDiff(
  repo: Repository,
  args: string[],
  how: { counted: boolean; timeoutMs: number; env: Record<string, string> },
) {
  const reader = new DiffReader()
  const take = (chunk: Buffer) => reader.take(chunk)
  await git(repo.dir, args, { timeoutMs: how.timeoutMs, config: diffConfig, env: how.env, overflow: 'cut', take })
  return reader.finish(how.counted)
}

/** How long git may delay the start of the patch, and how many bytes it must print per second of waiting. */
const patienceMs = 5_000
const bytesPerMs = 1_000

/**
 * The complete patch as git prints it. The stream starts once git has printed something, so that a failure at the
 * start is an error and not an empty reply. Content that stalls git later breaks the stream; a slow reader does not.
 */
export async function streamPatch(
  repo: Repository,
  pair: DiffPair,
  options: CallOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  const ancestor = await mergeBase(repo, requireSha(pair.baseSha), requireSha(pair.headSha), options)
  const args = diffArgs(ancestor, pair, ['--patch'])
  // A slow reader must not block previews, so this uses the serve lane.
  const child = await startGit(repo.dir, args, {
    ...options,
    lane: 'serve',
    config: diffConfig,
    limits: { cpuSeconds: 60, memoryBytes: patchMemoryBytes },
  })
  child.stdin.end()
  const inner = streamChild(child, { args }).getReader()
  let bytes = 0
  let waitedMs = 0
  const read = async () => {
    const began = performance.now()
    const timer = setTimeout(() => child.kill('timeout'), patienceMs + bytes / bytesPerMs - waitedMs)
    try {
      const chunk = await inner.read()
      bytes += chunk.value?.length ?? 0
      return chunk
    } finally {
      clearTimeout(timer)
      waitedMs += performance.now() - began
    }
  }
  let first: Awaited<ReturnType<typeof read>> | null = await read()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = first ?? (await read())
        first = null
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => inner.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** Files larger than any patch we show are compared as binary: a 60 MB file would take three seconds. */
const diffConfig: [string, string][] = [
  ['core.bigFileThreshold', '16m'],
  ['core.quotePath', 'false'],
]

export const emptyTree = {
  40: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  64: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
} as Record<number, Sha>

/** A plumbing command, which ignores user settings. Unrelated histories are compared with the empty tree. */
function diffArgs(ancestor: Sha | null, { headSha, renames, ignoreWhitespace }: How, parts: string[]): string[] {
  const fixed = [
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--full-index',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    '--ignore-submodules=none',
  ]
  const from = ancestor ?? emptyTree[headSha.length] ?? headSha
  return [
    'diff-tree',
    '-r',
    ...parts,
    ...fixed,
    ...(renames ? ['--find-renames', '-l1000'] : ['--no-renames']),
    ...(ignoreWhitespace ? ['--ignore-all-space'] : []),
    from,
    headSha,
    '--',
  ]
}
