/** The conversation on a terminal: a line is a prompt, the answer follows below. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { ApiClient } from '@svc/contract/api'
import type { Context } from './context.ts'
import { abortTurn, followTurn } from './conversation.ts'
import { Refusal } from './errors.ts'
import { QuestionPrompts } from './answer-at-prompt.ts'
import { red } from './output.ts'
import { printConversation } from './print-conversation.ts'
import type { Question } from './wire.ts'

export async function converse(
  ctx: Context,
  api: ApiClient,
  where: { projectId: string; sessionId: string },
): Promise<void> {
  const { io, out } = ctx
  out.note('Enter sends; a line that ends in \\ goes on. Ctrl-C aborts, Ctrl-D leaves.')
  const lines = new PromptLines(ctx)
  const questions = new QuestionPrompts(ctx, api, where, lines)
  let hasLeft = false
  const leaving = new AbortController()
  void questions.left.then(() => {
    hasLeft = true
    leaving.abort()
  })
  try {
    await questions.askOpen()
    while (!hasLeft) {
      const prompt = await readPrompt(lines)
      if (prompt === null) break
      const printer = { ...printConversation(ctx), question: (question: Question) => questions.take(question) }
      const signal = AbortSignal.any([io.signal, leaving.signal])
      const release = io.onInterrupt(() => {
        // The next one is nobody's any more, so it ends the client: a server that does not answer holds no terminal.
        release()
        printer.interrupted()
        out.progress('Aborting… Ctrl-C again leaves.')
        void abortTurn(api, where).catch((error: Error) => {
          if (!io.signal.aborted) out.progress(red('error: '), error.message)
        })
      })
      try {
        await followTurn({ newId: io.newId, sleep: io.sleep, signal }, api, where, prompt, printer)
      } catch (error) {
        if (hasLeft) break
        if (io.signal.aborted) printer.interrupted()
        // A prompt or a turn that failed, or was aborted, does not end the conversation.
        if (!(error instanceof Refusal) || (error.code !== 'turn_failed' && error.code !== 'prompt_failed')) throw error
        out.progress(red('error: '), error.message)
      } finally {
        release()
      }
      out.progress('')
    }
  } finally {
    lines.close()
  }
  out.note(`The session goes on: ${ctx.next(`svc sessions chat ${where.sessionId.slice(0, 8)}`)}`)
}

/** Null when the person leaves. */
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

/** One reader for the whole conversation, so that it has one history. Between two prompts the terminal is the terminal's own, and Ctrl-C a signal again. */
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
    // At the prompt nothing runs, so Ctrl-C drops what was typed; on an empty line it leaves.
    this.#lines.on('SIGINT', () => {
      if (this.#lines.line === '') return this.#lines.close()
      io.stderr.write('\n')
      this.#lines.write(null, { ctrl: true, name: 'e' })
      this.#lines.write(null, { ctrl: true, name: 'u' })
    })
    this.#rest()
  }

  next(question: string): Promise<string | null> {
    // Lines that were pasted at once came with the first of them, and were shown then: the terminal stays its own.
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

  /** Takes back what was asked, as if an end of input had come, and keeps the terminal. */
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
