/** The interactive conversation: a line is a prompt, and the answer follows below. */
import type { Question } from '@svc/sdk'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { abortOnInterrupt } from './abort-on-interrupt.ts'
import type { Context } from '../context.ts'
import type { NewPrompt } from './sending.ts'
import { followTurn } from './turn.ts'
import { Refusal } from '../errors.ts'
import { QuestionPrompts } from './answer-at-prompt.ts'
import { red } from '../terminal/output.ts'
import { type Printer, printConversation } from './print.ts'
import { watchConversation } from './watch.ts'
import type { SessionClient } from '../requests.ts'

/** The number of messages shown at the start. */
const messagesFirst = 10

export async function converse(
  ctx: Context,
  at: SessionClient,
  /** The error of the last turn, if the messages do not show it. */
  lastFailure: string | null,
  attached: Omit<NewPrompt, 'text'>,
): Promise<void> {
  const { io, out } = ctx
  const lines = new PromptLines(ctx)
  const questions = new QuestionPrompts(ctx, at, lines)
  let hasLeft = false
  let files = attached
  const leaving = new AbortController()
  void questions.left.then(() => {
    hasLeft = true
    leaving.abort()
  })
  const signal = AbortSignal.any([io.signal, leaving.signal])
  const question = (asked: Question) => questions.take(asked)
  /** Ctrl-C aborts the running turn. A failed or aborted turn does not end the conversation. */
  const during = async (printer: Printer, turn: (printer: Printer) => Promise<void>): Promise<void> => {
    const { release, waiting } = abortOnInterrupt(ctx, at, printer)
    try {
      await turn({ ...printer, question, waiting })
    } catch (error) {
      if (hasLeft) return
      if (io.signal.aborted) printer.interrupted()
      if (!(error instanceof Refusal) || !passing.has(error.code)) throw error
      out.progress(red('error: '), error.message)
    } finally {
      release()
    }
  }
  try {
    let hasSaid = false
    let shownFailure: string | null = null
    await during(printConversation(ctx, { whole: true }), (printer) => {
      const options = { messages: messagesFirst, untilIdle: true, signal }
      const failed = (reason: string) => {
        shownFailure = reason
        printer.failed?.(reason)
      }
      const prompt = (text: string) => {
        hasSaid = true
        printer.prompt?.(text)
      }
      return watchConversation(ctx, at, options, { ...printer, prompt, failed })
    })
    if (hasSaid) out.progress('')
    if (lastFailure !== null && lastFailure !== shownFailure) out.progress(red('The last turn failed: '), lastFailure)
    if (!hasLeft) await questions.askOpen()
    if (!hasLeft) out.note('Enter sends; a line that ends in \\ continues. Ctrl-C aborts, Ctrl-D leaves.')
    while (!hasLeft) {
      const prompt = await readPrompt(lines)
      if (prompt === null) break
      await during(printConversation(ctx), async (printer) => {
        const sent = { text: prompt, ...files }
        await followTurn({ ...ctx, io: { ...io, signal } }, at, sent, printer)
        files = {}
      })
      if (!hasLeft) out.progress('')
    }
  } finally {
    lines.close()
  }
  out.note(`The session keeps running: ${ctx.next(`svc sessions chat ${at.id.slice(0, 8)}`)}`)
}

/** The errors of one prompt. The conversation goes on. */
const passing: ReadonlySet<string> = new Set(['turn_failed', 'prompt_failed', 'prompt_cancelled'])

async function readPrompt(lines: PromptLines): Promise<string | null> {
  for (let text = ''; ;) {
    const line = await lines.next(text === '' ? '› ' : '… ')
    if (line === null || (text === '' && /^\/(exit|quit)$/.test(line.trim()))) return null
    if (line.endsWith('\\')) {
      text += `${line.slice(0, -1)}\n`
      continue
    }
    text += line
    if (text.trim() !== '') return text
    text = ''
  }
}

/** One readline interface for the whole conversation, so that it has one history. Between prompts the terminal is in its normal mode and Ctrl-C is a signal. */
class PromptLines {
  #lines
  #setRawMode
  #take: ((line: string | null) => void) | null = null
  #typedAhead: string[] = []
  #ended = false

  constructor({ io }: Context) {
    const input = io.stdin as Readable & { setRawMode?: (on: boolean) => void }
    this.#setRawMode = (on: boolean) => input.setRawMode?.(on)
    this.#lines = createInterface({ input, output: io.stderr.stream, terminal: true, removeHistoryDuplicates: true })
    this.#lines.on('line', (line) => {
      if (this.#take === null) this.#typedAhead.push(line)
      else this.#take(line)
    })
    this.#lines.on('close', () => {
      this.#ended = true
      if (this.#take !== null) io.stderr.write('\n')
      this.#take?.(null)
    })
    // At the prompt Ctrl-C discards the input; on an empty line it leaves.
    this.#lines.on('SIGINT', () => {
      if (this.#lines.line === '') return this.#lines.close()
      io.stderr.write('\n')
      this.#lines.write(null, { ctrl: true, name: 'e' })
      this.#lines.write(null, { ctrl: true, name: 'u' })
    })
    this.#rest()
  }

  next(question: string): Promise<string | null> {
    // Pasted lines arrive together and are already displayed, so the terminal stays in its normal mode.
    const ahead = this.#typedAhead.shift()
    if (ahead !== undefined) return Promise.resolve(ahead)
    if (this.#ended) return Promise.resolve(null)
    this.#setRawMode(true)
    this.#lines.resume()
    this.#lines.setPrompt(question)
    this.#lines.prompt()
    return new Promise((resolve) => {
      this.#take = (line) => {
        this.#take = null
        if (!this.#ended) this.#rest()
        resolve(line)
      }
    })
  }

  /** Cancels the current prompt and keeps the terminal. */
  drop(): void {
    if (this.#take === null) return
    this.#lines.write(null, { ctrl: true, name: 'u' })
    this.#take(null)
  }

  close(): void {
    this.#lines.close()
  }

  #rest(): void {
    this.#lines.pause()
    this.#setRawMode(false)
  }
}
