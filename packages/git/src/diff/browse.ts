import { streamChild } from '../process/child-stream.ts'
import { eachField } from '../formats/log-fields.ts'
import { git, gitLines, startGit } from '../process/git.ts'
import { missingObjects } from '../mirror/mirror.ts'
import { pathBytes, pathText } from '../formats/paths.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { CooperativeYield } from '../formats/cooperative-yield.ts'

export interface CommitEntry {
  sha: Sha
  parents: Sha[]
  author_name: string
  author_email: string
  authored_at: string
  committed_at: string
  subject: string
  body: string
}

export interface TreeEntry {
  name: string
  path: string
  type: 'file' | 'executable' | 'directory' | 'symlink' | 'submodule'
  sha: Sha
  size: number | null
}

export type FileOutcome =
  | { kind: 'file'; sha: Sha; mode: string; size: number; content: Uint8Array; binary: boolean; truncated: boolean }
  | { kind: 'directory' | 'submodule' | 'missing' }

/** The largest page of a list, and the commit that shows that there is a next one. */
const commitsMax = 1001
const treeEntriesBytesMax = 16 * 1024 * 1024
const fileBytesMax = 8 * 1024 * 1024

/** The history of a commit, newest first. `skip` pages through it. */
export async function listCommits(
  repo: Repository,
  input: { sha: Sha; limit: number; skip?: number; notIn?: Sha; path?: string },
  options: CallOptions = {},
): Promise<CommitEntry[]> {
  const path = input.path === undefined ? undefined : normalisePath(input.path)
  // No tree can contain this path, so no commit changed it.
  if (path === null) return []
  const limit = Math.min(Math.max(1, input.limit), commitsMax)
  const range = [requireSha(input.sha), ...(input.notIn ? [`^${requireSha(input.notIn)}`] : [])]
  const format = '--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%cI%x00%s%x00%b'
  const args = [
    'log',
    '-z',
    '--no-show-signature',
    // The output does not use the decoration, and git would read all refs for it.
    '--no-mailmap',
    '--no-color',
    format,
  ]
  const page = [`--max-count=${limit}`, `--skip=${input.skip ?? 0}`]
  const commits: CommitEntry[] = []
  let fields: string[] = []
  let bodies = 0
  const reader: Parameters<typeof eachField>[3] = {
    // A character has at most four bytes; one more byte shows that the text was cut.
    keep: () => 4 * (lettersMax(fields.length, bodies) + 1),
    take(field) {
      const text = cut(field.toString('utf8'), lettersMax(fields.length, bodies))
      fields.push(text)
      if (fields.length < fieldsMax.length) return
      bodies += text.length
      commits.push(readCommit(fields))
      fields = []
    },
  }
  if (input.notIn === undefined || (path !== undefined && path !== '')) {
    await readLog(repo, [...args, ...page, ...range], path === '' ? undefined : path, options, reader)
    return commits
  }
  for (const ids of await listIds(repo, [...page, ...range], options)) {
    const shown = [...args, '--no-walk=unsorted', '--stdin']
    await eachField(repo.dir, shown, { ...options, input: ids.map((id) => `${id}\n`).join('') }, reader)
  }
  return commits
}

/** git keeps the text of every commit it visits, unless it prints only ids. */
async function listIds(repo: Repository, args: string[], options: CallOptions): Promise<Sha[][]> {
  const ids = await gitLines(repo.dir, ['rev-list', ...args, '--'], options)
  return Array.from({ length: Math.ceil(ids.length / textsAtOnce) }, (_, n) =>
    ids.slice(n * textsAtOnce, (n + 1) * textsAtOnce),
  )
}

/** It also keeps the text of the commits it is given. */
const textsAtOnce = 100

/** Id, parents, author's name and address, both dates, subject, and body. A commit can have 20,000 parents. */
const fieldsMax = [64, 65 * 25_000, 1000, 1000, 100, 100, 4000, 64_000]
/** Beyond this number of characters in one list, the other bodies are shortened. */
const bodiesMax = 4_000_000
const lateBodyMax = 1000

function lettersMax(field: number, bodies: number): number {
  const max = fieldsMax[field] as number
  return field === fieldsMax.length - 1 && bodies > bodiesMax ? lateBodyMax : max
}

/** Arguments are text, so a path that is not UTF-8 goes through stdin, which allows all but line feeds. */
export function readLog(
  repo: Repository,
  args: string[],
  path: string | undefined,
  options: CallOptions,
  reader: Parameters<typeof eachField>[3],
): Promise<void> {
  if (path === undefined) return eachField(repo.dir, [...args, '--'], options, reader)
  const bytes = pathBytes(path)
  if (bytes.equals(Buffer.from(path)) || bytes.includes(10))
    return eachField(repo.dir, [...args, '--', path], options, reader)
  const input = Buffer.concat([Buffer.from('--\n'), bytes, Buffer.from('\n')])
  return eachField(repo.dir, [...args, '--stdin'], { ...options, input }, reader)
}

/** How many commits each of two has that the other lacks. */
export async function countApart(
  repo: Repository,
  { baseSha, headSha }: { baseSha: Sha; headSha: Sha },
  options: CallOptions = {},
): Promise<{ ahead: number; behind: number }> {
  // Counting both sides at once starts at the common ancestor, and git would keep the text of every commit on the
  // way.
  const count = async (from: Sha, without: Sha) =>
    Number((await git(repo.dir, ['rev-list', '--count', from, `^${without}`, '--'], options)).stdout.toString())
  const [base, head] = [requireSha(baseSha), requireSha(headSha)]
  const [ahead, behind] = await Promise.all([count(head, base), count(base, head)])
  return { ahead, behind }
}

/** Commits of `sha` that no tip contains; null when `sha` does not exist here. Missing tips are ignored. */
export async function countBeyond(
  repo: Repository,
  { sha, tips }: { sha: Sha; tips: Sha[] },
  options: CallOptions = {},
): Promise<number | null> {
  const missing = new Set(await missingObjects(repo, [requireSha(sha), ...tips.map(requireSha)]))
  if (missing.has(sha)) return null
  const input = [sha, ...tips.filter((tip) => !missing.has(tip)).map((tip) => `^${tip}`), ''].join('\n')
  const { stdout } = await git(repo.dir, ['rev-list', '--count', '--stdin'], { ...options, input })
  return Number(stdout.toString())
}

/** A commit and its first-parent ancestors, newest first. Empty when the commit does not exist here. */
export async function firstParents(repo: Repository, sha: Sha, count: number): Promise<Sha[]> {
  if ((await missingObjects(repo, [requireSha(sha)])).length > 0) return []
  return gitLines(repo.dir, ['rev-list', '--first-parent', `--max-count=${count}`, sha, '--'])
}

/** Whether one of these tips contains a commit. The tips must exist here. */
export async function isContained(
  repo: Repository,
  { sha, tips }: { sha: Sha; tips: Sha[] },
  options: CallOptions = {},
): Promise<boolean> {
  if (tips.includes(requireSha(sha))) return true
  const { stdout: type } = await git(repo.dir, ['cat-file', '--batch-check=%(objecttype)'], { input: `${sha}\n` })
  if (type.toString().trim() !== 'commit' || tips.length === 0) return false
  // The commits of it that the tips lack: none when they contain it.
  const input = `${sha}\n${tips.map((tip) => `^${requireSha(tip)}\n`).join('')}`
  const { stdout } = await git(repo.dir, ['rev-list', '--max-count=1', '--stdin'], { ...options, input })
  return stdout.length === 0
}

function readCommit(fields: string[]): CommitEntry {
  const [sha = '', parents = '', name = '', email = '', authored = '', committed = '', subject = '', body = ''] = fields
  return {
    sha,
    parents: parents.split(' ').filter(Boolean),
    author_name: name,
    author_email: email,
    authored_at: isoUtc(authored),
    committed_at: isoUtc(committed),
    subject,
    body: body.trimEnd(),
  }
}

/** A message can fill a disk; a list is for people. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
}

/** A commit can have any text as its date. */
function isoUtc(text: string): string {
  const time = Date.parse(text)
  return new Date(Number.isNaN(time) ? 0 : time).toISOString()
}

/** The entries of a folder (the root is the empty path), folders first; null when the folder does not exist. */
export async function listTree(
  repo: Repository,
  input: { sha: Sha; path: string },
  options: CallOptions = {},
): Promise<TreeEntry[] | null> {
  const folder = normalisePath(input.path)
  if (folder === null) return null
  const records = await readFolder(repo, input.sha, pathBytes(folder), options)
  if (records === null) return null
  const yields = new CooperativeYield()
  const [folders, files]: [TreeEntry[], TreeEntry[]] = [[], []]
  for (const record of records) {
    const entry = toEntry(record)
    ;(entry.type === 'directory' ? folders : files).push(entry)
    if (yields.isDue) await yields.next()
  }
  const byName = (a: TreeEntry, b: TreeEntry) => (a.name < b.name ? -1 : 1)
  return [...folders.sort(byName), ...files.sort(byName)]
}

/** One file of a commit, cut at `bytesMax`. The content of a symbolic link is its target. */
export async function readFileAt(
  repo: Repository,
  input: { sha: Sha; path: string; bytesMax?: number },
  options: CallOptions = {},
): Promise<FileOutcome> {
  const path = normalisePath(input.path)
  if (path === null) return { kind: 'missing' }
  if (path === '') return { kind: 'directory' }
  const record = await findRecord(repo, input.sha, path, options)
  if (!record) return { kind: 'missing' }
  if (record.type !== 'blob') return { kind: record.type === 'tree' ? 'directory' : 'submodule' }
  const bytesMax = input.bytesMax ?? fileBytesMax
  const { stdout, cut } = await git(repo.dir, ['cat-file', 'blob', record.sha], {
    ...options,
    bytesMax,
    overflow: 'cut',
  })
  // git's own rule: a zero byte near the beginning.
  const binary = stdout.subarray(0, 8000).includes(0)
  return {
    kind: 'file',
    sha: record.sha,
    mode: record.mode,
    size: record.size ?? stdout.length,
    content: stdout,
    binary,
    truncated: cut,
  }
}

/** All bytes of a file, streamed. */
export async function streamFile(
  repo: Repository,
  blob: Sha,
  options: CallOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  const args = ['cat-file', 'blob', requireSha(blob)]
  // A slow reader must not block previews, so this uses the serve lane.
  const child = await startGit(repo.dir, args, { ...options, lane: 'serve' })
  child.stdin.end()
  return streamChild(child, { args })
}

interface TreeRecord {
  mode: string
  type: string
  sha: Sha
  size: number | null
  /** From the root, as bytes. */
  path: Buffer
}

async function findRecord(
  repo: Repository,
  commit: Sha,
  path: string,
  options: CallOptions,
): Promise<TreeRecord | undefined> {
  const bytes = pathBytes(path)
  if (bytes.equals(Buffer.from(path))) return (await readTree(repo, commit, [path], options))[0]
  // Arguments are text, so a path that is not UTF-8 is looked up in its folder.
  const folder = bytes.subarray(0, Math.max(0, bytes.lastIndexOf(slash)))
  return (await readFolder(repo, commit, folder, options))?.find((record) => record.path.equals(bytes))
}

const slash = 47

/** null when the folder does not exist. */
async function readFolder(
  repo: Repository,
  commit: Sha,
  folder: Buffer,
  options: CallOptions,
): Promise<TreeRecord[] | null> {
  const input = Buffer.concat([Buffer.from(`${requireSha(commit)}:`), folder, Buffer.of(0)])
  const { stdout } = await git(repo.dir, ['cat-file', '-z', '--batch-check=%(objecttype) %(objectname)'], {
    ...options,
    input,
  })
  const tree = /^tree ([0-9a-f]+)\n$/.exec(stdout.toString('latin1'))?.[1]
  if (tree === undefined) return null
  return readTree(repo, tree, [], options, folder)
}

/** `folder` is the path of the tree. */
async function readTree(
  repo: Repository,
  treeish: Sha,
  paths: string[],
  options: CallOptions,
  folder: Buffer = Buffer.alloc(0),
): Promise<TreeRecord[]> {
  const args = ['ls-tree', '-z', '-l', requireSha(treeish), '--', ...paths]
  const { stdout } = await git(repo.dir, args, { ...options, bytesMax: treeEntriesBytesMax })
  const before = folder.length === 0 ? folder : Buffer.concat([folder, Buffer.of(slash)])
  const yields = new CooperativeYield()
  const records: TreeRecord[] = []
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf(0, at)
    records.push(readRecord(stdout.subarray(at, end === -1 ? stdout.length : end), before))
    at = end === -1 ? stdout.length : end + 1
    if (yields.isDue) await yields.next()
  }
  return records
}

/** `<mode> <type> <id> <size or -, padded>\t<path>` */
function readRecord(record: Buffer, before: Buffer): TreeRecord {
  const tab = record.indexOf(tabulator)
  const [mode = '', type = '', sha = '', size = '-'] = record.toString('latin1', 0, tab).split(/ +/)
  const path = Buffer.concat([before, record.subarray(tab + 1)])
  return { mode, type, sha, size: size === '-' ? null : Number(size), path }
}

const tabulator = 9

function toEntry({ mode, type, sha, size, path }: TreeRecord): TreeEntry {
  const kinds: Record<string, TreeEntry['type']> = { '100755': 'executable', '120000': 'symlink' }
  const special: Record<string, TreeEntry['type']> = { tree: 'directory', commit: 'submodule' }
  return {
    name: pathText(path.subarray(path.lastIndexOf(slash) + 1)),
    path: pathText(path),
    type: special[type] ?? kinds[mode] ?? 'file',
    sha,
    size,
  }
}

/** null for a path that no tree can contain. */
function normalisePath(path: string): string | null {
  const trimmed = path.replace(/^\/+|\/+$/g, '')
  if (trimmed === '') return ''
  const bad = trimmed.includes('\0') || trimmed.split('/').some((part) => part === '' || part === '.' || part === '..')
  return bad ? null : trimmed
}
