import { git } from '../process/git.ts'
import { pathBytes, pathText, unquotePath } from '../formats/paths.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { readFileAt } from './browse.ts'

/** Lines `start` to `end`, counted from 1, that `sha` last changed. */
export interface BlameRange {
  start: number
  end: number
  sha: Sha
  /** The name of the file in that commit. */
  path: string
}

export interface BlameCommit {
  sha: Sha
  author_name: string
  author_email: string
  authored_at: string
  /** A commit that was amended or rebased has a later one. */
  committed_at: string
  subject: string
}

export type BlameOutcome =
  | { kind: 'blame'; ranges: BlameRange[]; commits: BlameCommit[] }
  | { kind: 'directory' | 'submodule' | 'missing' | 'binary' | 'large' | 'unnamed' }

export const blameBytesMax = 1024 * 1024
const outputBytesMax = 16 * 1024 * 1024

/** Which commit last changed each line of a file. Lines that `notIn` contains count as of that commit, which saves their history. */
export async function blameFile(
  repo: Repository,
  input: { sha: Sha; path: string; notIn?: Sha | undefined },
  options: CallOptions = {},
): Promise<BlameOutcome> {
  const found = await readFileAt(repo, { ...input, bytesMax: blameBytesMax }, options)
  if (found.kind !== 'file') return { kind: found.kind }
  if (found.binary) return { kind: 'binary' }
  if (found.truncated) return { kind: 'large' }
  const path = input.path.replace(/^\/+|\/+$/g, '')
  // git takes the path as an argument, and arguments are text.
  if (!pathBytes(path).equals(Buffer.from(path))) return { kind: 'unnamed' }
  const range = input.notIn === undefined ? [] : [`^${requireSha(input.notIn)}`]
  const args = ['blame', '--incremental', '--no-progress', requireSha(input.sha), ...range, '--', path]
  const { stdout } = await git(repo.dir, args, { ...options, bytesMax: outputBytesMax })
  return { kind: 'blame', ...readBlame(stdout) }
}

/** Entries of `<id> <original line> <line> <lines>`, facts of a commit when it is new, and a closing `filename`. */
function readBlame(output: Buffer): { ranges: BlameRange[]; commits: BlameCommit[] } {
  const ranges: BlameRange[] = []
  const commits = new Map<Sha, BlameCommit>()
  for (const entry of output.toString('latin1').split(/(?<=^filename .*\n)/m)) {
    const [begin = '', ...facts] = entry.split('\n')
    const [sha = '', , start, count] = begin.split(' ')
    if (sha === '') continue
    const commit = commits.get(sha) ?? unread(sha)
    commits.set(sha, commit)
    const range = { start: Number(start), end: Number(start) + Number(count) - 1, sha, path: '' }
    for (const fact of facts) {
      const [key = '', value] = [fact.split(' ', 1)[0], fact.slice(fact.indexOf(' ') + 1)]
      if (key === 'filename') range.path = pathText(unquotePath(value))
      else readFact(commit, key, value)
    }
    ranges.push(range)
  }
  return { ranges: joined(ranges.sort((one, other) => one.start - other.start)), commits: [...commits.values()] }
}

function unread(sha: Sha): BlameCommit {
  const unknown = new Date(0).toISOString()
  return { sha, author_name: '', author_email: '', authored_at: unknown, committed_at: unknown, subject: '' }
}

const lettersMax = 1000

function readFact(commit: BlameCommit, key: string, value: string): void {
  const text = () =>
    Buffer.from(value.slice(0, 4 * lettersMax), 'latin1')
      .toString('utf8')
      .slice(0, lettersMax)
      .toWellFormed()
  if (key === 'author') commit.author_name = text()
  if (key === 'author-mail') commit.author_email = text().replace(/^<|>$/g, '')
  if (key === 'summary') commit.subject = text()
  if (key === 'author-time') commit.authored_at = isoOf(Number(value))
  if (key === 'committer-time') commit.committed_at = isoOf(Number(value))
}

/** A commit can have any number as its time. */
function isoOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 ? new Date(0) : date).toISOString()
}

/** Neighboring ranges of one commit and name are one range. */
function joined(ranges: BlameRange[]): BlameRange[] {
  const all: BlameRange[] = []
  for (const range of ranges) {
    const last = all.at(-1)
    if (last !== undefined && last.sha === range.sha && last.path === range.path && last.end + 1 === range.start)
      last.end = range.end
    else all.push(range)
  }
  return all
}
