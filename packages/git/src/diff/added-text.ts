/** The text that a push adds, as a stream with its positions, read before any ref moves. */
import { git } from '../process/git.ts'
import { isZero, requireSha, type CallOptions, type RefUpdate, type Repository, type Sha } from '../repository.ts'

export interface AddedBlock {
  /** Added lines of any number of files; a NUL separates pieces of files. */
  bytes: Buffer
  /** The path and line at an offset of `bytes`. */
  placeOf(offset: number): { path: string; line: number }
}

const blockBytes = 256 * 1024
/** Limit for the text of one push; the rest is not read. */
const addedBytesMax = 1024 ** 3

export type ScanOutcome = 'read' | 'stopped' | 'too-large'

/**
 * Passes the added lines of every new commit to `look`, in blocks that overlap by `overlap` bytes; a merge adds what
 * no parent has. `look` stops the scan by returning true.
 */
export async function scanAddedText(
  repo: Repository,
  input: { updates: RefUpdate[]; known: Iterable<Sha>; overlap: number },
  look: (block: AddedBlock) => boolean,
  options: CallOptions = {},
): Promise<ScanOutcome> {
  const heads = input.updates.map(({ newSha }) => newSha).filter((sha) => !isZero(sha))
  if (heads.length === 0) return 'read'
  const args = ['log', '--stdin', '--format=%x00', '-p', '-c', '-U0', '--text', '--no-renames', '--no-color']
  args.push('--no-ext-diff', '--no-textconv', '--no-show-signature', '--src-prefix=a/', '--dst-prefix=b/')
  const collector = new Collector(input.overlap, look)
  let bytes = 0
  const { cut } = await git(repo.dir, args, {
    ...options,
    lane: 'serve',
    config: [['core.quotePath', 'false']],
    input: [...heads.map(requireSha), ...[...input.known].map((sha) => `^${requireSha(sha)}`), ''].join('\n'),
    overflow: 'cut',
    take(chunk) {
      bytes += chunk.length
      return bytes <= addedBytesMax && !collector.read(chunk)
    },
  })
  if (bytes > addedBytesMax) return 'too-large'
  return cut || collector.end() ? 'stopped' : 'read'
}

const [newline, at, plus, minus, backslash, nul] = [10, 64, 43, 45, 92, 0]

/** Parses a streamed patch. Lines may have any length; pieces of a long line are taken as they arrive. */
class Collector {
  #inHunk = false
  /** The number of signs before each line of a hunk: one per parent. */
  #signs = 1
  #path = ''
  #line = 1
  #rest: Buffer = Buffer.alloc(0)
  /** Whether the current line, which began in an earlier chunk, is added text. */
  #under: 'added' | 'other' | null = null
  #pieces: Buffer[] = []
  #size = 0
  #marks: { at: number; path: string; line: number }[] = []
  readonly #overlap: number
  readonly #look: (block: AddedBlock) => boolean
  constructor(overlap: number, look: (block: AddedBlock) => boolean) {
    this.#overlap = overlap
    this.#look = look
  }

  read(chunk: Buffer): boolean {
    const text = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let from = 0
    for (let end = text.indexOf(newline); end !== -1; end = text.indexOf(newline, from)) {
      this.#whole(text.subarray(from, end + 1))
      from = end + 1
    }
    const tail = text.subarray(from)
    // An incomplete line. Its beginning shows what it is; the rest need not be kept.
    if (tail.length > 4096 && this.#inHunk) {
      if (this.#under === null) this.#under = this.#begin(tail)
      else if (this.#under === 'added') this.#add(tail)
      this.#rest = Buffer.alloc(0)
    } else this.#rest = Buffer.from(tail)
    return this.#size > blockBytes && this.#flush()
  }

  end(): boolean {
    if (this.#rest.length > 0) this.#whole(this.#rest)
    return this.#flush()
  }

  #whole(line: Buffer): void {
    if (this.#under !== null) {
      if (this.#under === 'added') this.#add(line)
      if (this.#under === 'added') this.#line++
      this.#under = null
      return
    }
    const first = line[0]!
    if (this.#inHunk && (first === plus || first === minus || first === 32 || first === backslash)) {
      if (this.#begin(line) === 'added') this.#line++
      return
    }
    if (first === at) return this.#hunk(line)
    this.#inHunk = false
    if (first === plus && line.subarray(0, 4).toString() === '+++ ')
      this.#path = line
        .subarray(4)
        .toString('utf8')
        .trimEnd()
        .replace(/^"?b\//, '')
        .replace(/"$/, '')
  }

  #begin(line: Buffer): 'added' | 'other' {
    const signs = line.subarray(0, this.#signs)
    if (line[0] === backslash || signs.includes(minus)) return 'other'
    // In a merge, a line that only one parent lacks came from the other.
    if (!signs.every((sign) => sign === plus)) {
      this.#line++
      this.#mark()
      return 'other'
    }
    this.#add(line.subarray(this.#signs))
    return 'added'
  }

  #hunk(header: Buffer): void {
    const [, signs = '@@', line = '1'] = /^(@@+) .*?\+(\d+)/.exec(header.subarray(0, 400).toString('latin1')) ?? []
    this.#inHunk = true
    this.#signs = signs.length - 1
    this.#line = Number(line)
    this.#mark()
  }

  #mark(): void {
    this.#pieces.push(Buffer.from([nul]))
    this.#size++
    this.#marks.push({ at: this.#size, path: this.#path, line: this.#line })
  }

  #add(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#size += bytes.length
  }

  #flush(): boolean {
    const bytes = Buffer.concat(this.#pieces)
    const marks = this.#marks
    const placeOf = (offset: number) => {
      const mark = marks.findLast((one) => one.at <= offset) ?? { at: 0, path: this.#path, line: 1 }
      let line = mark.line
      for (
        let next = bytes.indexOf(newline, mark.at);
        next !== -1 && next < offset;
        next = bytes.indexOf(newline, next + 1)
      )
        line++
      return { path: mark.path, line }
    }
    if (this.#look({ bytes, placeOf })) return true
    const kept = Math.max(0, bytes.length - this.#overlap)
    const place = placeOf(kept)
    this.#pieces = [Buffer.from(bytes.subarray(kept))]
    this.#size = bytes.length - kept
    this.#marks = [
      { at: 0, ...place },
      ...marks.filter((mark) => mark.at > kept).map((mark) => ({ ...mark, at: mark.at - kept })),
    ]
    return false
  }
}
