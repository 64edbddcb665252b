import { pathText, unquotePath } from '../formats/paths.ts'
import { CooperativeYield } from '../formats/cooperative-yield.ts'
import type { Sha } from '../repository.ts'

export interface DiffFile {
  path: string
  old_path: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  binary: boolean
  /** Only of binary files: bytes before and after; null where there is no such side. */
  old_size?: number | null
  new_size?: number | null
}

/** The ids of both sides of a binary file. Zeros: there is no such side. */
export interface BinaryFile {
  file: DiffFile
  oldSha: Sha
  newSha: Sha
}

export const diffLimits = { patchBytes: 24 * 1024 * 1024, files: 5000, lines: 250_000 }

/** The list of files comes first and is kept up to some 120,000 files; this limit only stops absurd lists. */
const listBytesMax = 16 * 1024 * 1024

export interface ReadDiff {
  files: DiffFile[]
  /** The binary ones of them. */
  binaries: BinaryFile[]
  /** Files whose only changes are whitespace, when that is ignored; they are not in `files`. */
  whitespaceOnly: string[]
  patch: string
  truncated: boolean
}

const newline = 10

/** Parses streamed `git diff-tree --raw --numstat --patch`: the list, an empty line, the patch. */
export class DiffReader {
  #list: Buffer[] = []
  #listBytes = 0
  #inPatch = false
  #patch: Buffer[] = []
  #patchBytes = 0
  #patchLines = 0

  /** False once more input would not be used. */
  take(chunk: Buffer): boolean {
    if (this.#inPatch) return this.#takePatch(chunk)
    const patchAt = this.#patchIn(chunk)
    const own = patchAt === null ? chunk : chunk.subarray(0, patchAt - 1)
    this.#list.push(own)
    this.#listBytes += own.length
    if (patchAt === null) return this.#listBytes <= listBytesMax
    this.#inPatch = true
    return this.#takePatch(chunk.subarray(patchAt))
  }

  /** Where the patch begins: after an empty line, which may start at the end of the previous chunk. */
  #patchIn(chunk: Buffer): number | null {
    if (chunk[0] === newline && this.#list.at(-1)?.at(-1) === newline) return 1
    const gap = chunk.indexOf('\n\n')
    return gap === -1 ? null : gap + 2
  }

  #takePatch(chunk: Buffer): boolean {
    this.#patch.push(chunk)
    this.#patchBytes += chunk.length
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) this.#patchLines++
    return this.#patchBytes <= diffLimits.patchBytes && this.#patchLines <= diffLimits.lines
  }

  /** `counted` is false for a list that was read without the expensive comparison. */
  async finish(counted: boolean): Promise<ReadDiff> {
    const isCut = this.#listBytes > listBytesMax
    const isWhole = counted && !isCut
    const list = await parseList(this.#list, { isCut, isWhole })
    const { files } = list
    if (!isWhole) return { ...list, patch: files.length > 0 ? tooCostly(files) : '', truncated: files.length > 0 }
    return { ...list, ...(await cutPatch(Buffer.concat(this.#patch))) }
  }
}

/** Raw lines begin with a colon and describe the change; counts follow in the same order. */
async function parseList(
  pieces: Buffer[],
  { isCut, isWhole }: { isCut: boolean; isWhole: boolean },
): Promise<Pick<ReadDiff, 'files' | 'binaries' | 'whitespaceOnly'>> {
  const yields = new CooperativeYield()
  const raw: string[] = []
  const counts: string[] = []
  const take = (line: string) => line !== '' && (line[0] === ':' ? raw : counts).push(line)
  // Piece by piece: one string of many megabytes would block the event loop and keep memory for long.
  let begun = ''
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const text = begun + piece.toString('latin1')
    let at = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', at)) {
      take(text.slice(at, end))
      at = end + 1
      if (yields.isDue) await yields.next()
    }
    begun = text.slice(at)
  }
  if (!isCut) take(begun)
  const files: DiffFile[] = []
  const binaries: BinaryFile[] = []
  const whitespaceOnly: string[] = []
  let next = 0
  for (const line of raw) {
    const count = counts[next]
    if (isWhole && isLeftOut(line, count)) whitespaceOnly.push(parseFile(line, '0\t0\t').path)
    else {
      const file = parseFile(line, counts[next++] ?? '0\t0\t')
      files.push(file)
      if (file.binary) binaries.push({ file, ...idsOf(line) })
    }
    if (yields.isDue) await yields.next()
  }
  if (isWhole && next !== counts.length) throw new Error('git counted other files than it listed.')
  return { files, binaries, whitespaceOnly }
}

function idsOf(raw: string): Pick<BinaryFile, 'oldSha' | 'newSha'> {
  const [, , oldSha = '', newSha = ''] = raw.slice(0, raw.indexOf('\t')).split(' ')
  return { oldSha, newSha }
}

/** git prints no counts for a file without changes left, which is one that kept its name and mode. */
function isLeftOut(raw: string, count: string | undefined): boolean {
  const [head = '', path] = raw.split('\t')
  const [oldMode = '', newMode, , , letter = ''] = head.slice(1).split(' ')
  return letter === 'M' && oldMode === newMode && count?.split('\t')[2] !== path
}

const isPlain = /^(?!")[ -~]*$/

const statuses: Record<string, DiffFile['status']> = { A: 'added', C: 'added', D: 'deleted', R: 'renamed' }

function parseFile(raw: string, count: string): DiffFile {
  // `:<mode> <mode> <id> <id> <status>\t<path>[\t<new path>]`
  const [head = '', first = '', second] = raw.split('\t')
  const letter = head.slice(head.lastIndexOf(' ') + 1, head.lastIndexOf(' ') + 2)
  const [additions = '0', deletions = '0'] = count.split('\t')
  // Most paths are plain ASCII, and for a hundred thousand of them decoding bytes is most of the work.
  const path = (printed: string) => (isPlain.test(printed) ? printed : pathText(unquotePath(printed)))
  return {
    path: path(second ?? first),
    old_path: letter === 'R' ? path(first) : null,
    // A changed type (`T`) and unknown letters count as a modification.
    status: statuses[letter] ?? 'modified',
    additions: Number.parseInt(additions, 10) || 0,
    deletions: Number.parseInt(deletions, 10) || 0,
    binary: additions === '-',
  }
}

const fileStart = Buffer.from('\ndiff --git ')

/** Cuts what is too long, too many, or too large at a file border; keeps at least the head of the first file. */
async function cutPatch(patch: Buffer): Promise<{ patch: string; truncated: boolean }> {
  const yields = new CooperativeYield()
  let end = 0
  let lines = 0
  let files = 0
  for (let start = 0; start < patch.length;) {
    const border = patch.indexOf(fileStart, start)
    const next = border === -1 ? patch.length : border + 1
    for (let at = patch.indexOf(newline, start); at !== -1 && at < next; at = patch.indexOf(newline, at + 1)) lines++
    files++
    if (next > diffLimits.patchBytes || lines > diffLimits.lines || files > diffLimits.files) {
      const kept = end > 0 ? patch.subarray(0, end) : headOfFile(patch)
      return { patch: kept.toString('utf8'), truncated: true }
    }
    end = next
    start = next
    if (yields.isDue) await yields.next()
  }
  return { patch: patch.toString('utf8'), truncated: false }
}

/** A patch with files is never empty, so a first file that is too large keeps its head lines. */
function headOfFile(patch: Buffer): Buffer {
  const firstHunk = patch.indexOf('\n@@ ')
  return firstHunk === -1 ? patch.subarray(0, 4096) : patch.subarray(0, firstHunk + 1)
}

function tooCostly(files: DiffFile[]): string {
  const shown = files.slice(0, diffLimits.files)
  const name = (path: string) => (/["\\\p{Cc}]/u.test(path) ? JSON.stringify(path) : path)
  return shown.map(({ path }) => `diff --git ${name(`a/${path}`)} ${name(`b/${path}`)}\n`).join('')
}
