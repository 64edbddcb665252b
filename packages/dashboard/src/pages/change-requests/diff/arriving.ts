/** A diff that arrives in lines: the page shows its first files before the last ones are here. */
import { ApiError, getStream } from '../../../api.ts'
import { type DiffOptions, diffType, type Reply, requests } from '../../../prefetch/requests.ts'
import { takePrefetchedDiff } from '../../../prefetch/script.ts'

type Diff = Reply<'/v1/projects/{projectId}/change-requests/{crId}/diff'>
/** Until it is whole, its patch ends with the last file that arrived. `files` stays the same list. */
export type ArrivingDiff = Diff & { isWhole: boolean }

export interface AskedDiff {
  projectId: string
  crId: string
  options: DiffOptions
  signal: AbortSignal
}

/** Each shown part has this many times the lines of the one before, so that a long diff renders only a few times. */
const growth = 3

/** Calls `show` as the first files arrive, and a few times more. Returns the whole. */
export async function readDiff(asked: AskedDiff, show: (part: ArrivingDiff) => void): Promise<ArrivingDiff> {
  let head: Omit<Diff, 'patch'> | null = null
  const patch = new ArrivingPatch()
  let shown = 0
  for await (const line of linesOf(await responseTo(asked))) {
    if (head === null) {
      head = JSON.parse(line) as Omit<Diff, 'patch'>
      continue
    }
    // Not after the last line: what follows it is the whole.
    if (patch.wholeFiles > shown * growth) {
      shown = patch.wholeFiles
      show({ ...head, patch: patch.text().slice(0, shown), isWhole: false })
    }
    patch.add((JSON.parse(line) as { patch: string }).patch)
  }
  if (head === null) throw new ApiError(0, { error: "Can't read the diff: the reply is empty.", code: 'internal' })
  return { ...head, patch: patch.text(), isWhole: true }
}

/** Lines of file content start with a sign, so a line that starts like this begins a file. */
const border = '\ndiff --git '

class ArrivingPatch {
  /** The characters of the files that arrived whole. */
  wholeFiles = 0
  readonly #pieces: string[] = []
  #chars = 0
  #end = ''

  add(piece: string): void {
    // A border may be cut by the end of a piece.
    const seam = this.#end + piece
    const at = seam.lastIndexOf(border)
    if (at !== -1) this.wholeFiles = this.#chars - this.#end.length + at + 1
    this.#pieces.push(piece)
    this.#chars += piece.length
    this.#end = seam.slice(1 - border.length)
  }

  text = () => this.#pieces.join('')
}

async function responseTo({ projectId, crId, options, signal }: AskedDiff): Promise<ReadableStream<Uint8Array>> {
  const [path, params] = requests.diff(projectId, crId, options)
  const early = (await takePrefetchedDiff(params))?.body ?? null
  if (early === null) return getStream(path, params, { accept: diffType, signal })
  return early.pipeThrough(new TransformStream(), { signal })
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  let pieces: string[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    let at = 0
    for (let end = value.indexOf('\n'); end !== -1; end = value.indexOf('\n', at)) {
      yield pieces.join('') + value.slice(at, end)
      pieces = []
      at = end + 1
    }
    if (at < value.length) pieces.push(value.slice(at))
  }
  if (pieces.length > 0) yield pieces.join('')
}
