import { explainEnd, type GitChild } from './git.ts'

const stallMsDefault = 120_000

export interface ChildStreamOptions {
  args: string[]
  accept?: number[]
  /** Sent before the child's own output. */
  preamble?: Uint8Array
  /** Ends the process when the reader takes nothing for this long, so that stalled readers do not fill the lane. */
  stallMs?: number
}

/**
 * The output of a process as a web stream. It reads as fast as the reader takes, ends the process when the reader
 * cancels, and fails the stream when the process fails, so that truncated output never looks complete.
 */
export function streamChild(child: GitChild, options: ChildStreamOptions): ReadableStream<Uint8Array> {
  const chunks = (child.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let preamble = options.preamble
  let stall: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    clearTimeout(stall)
    stall = setTimeout(() => child.kill('timeout'), options.stallMs ?? stallMsDefault)
  }
  watch()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // While the reader waits, only the limits of the process count: git can be silent for minutes.
        clearTimeout(stall)
        if (preamble) {
          controller.enqueue(preamble)
          preamble = undefined
          return watch()
        }
        const { done, value } = await chunks.next()
        if (!done) {
          controller.enqueue(value)
          return watch()
        }
        const failure = explainEnd(options.args, await child.ended, options.accept ?? [0])
        if (failure) controller.error(failure)
        else controller.close()
      },
      cancel() {
        clearTimeout(stall)
        child.kill('aborted')
      },
    },
    { highWaterMark: 0 },
  )
}
