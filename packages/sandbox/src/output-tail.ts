/** The last output of a sandbox's PID 1, which shows why the sandbox ended. */
import type { ChildProcess } from 'node:child_process'

const bytesMax = 4096
const linesInSentence = 5

export type OutputTail = ReturnType<typeof createOutputTail>

export function createOutputTail() {
  let text = ''
  const add = (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-bytesMax)
  }
  return {
    follow(child: ChildProcess): void {
      child.stdout?.on('data', add)
      child.stderr?.on('data', add)
    },
    /** "Its last lines: …", or an empty string without output. */
    asSentence: () => plainLines(text),
  }
}

/** Output from a sandbox may contain anything; a reason is one line of plain characters. */
export function plainLines(text: string): string {
  const lines = text
    .slice(-bytesMax)
    .split('\n')
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim())
    .filter((line) => line !== '')
  return lines.length === 0 ? '' : `Its last lines: ${lines.slice(-linesInSentence).join(' / ')}`
}
