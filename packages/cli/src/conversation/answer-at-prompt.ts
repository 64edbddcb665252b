/** Asks the user the agent's questions: an answer is the number of an option, or text. */
import type { Question } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import type { Context } from '../context.ts'
import { bold, dim, green, red, yellow } from '../terminal/output.ts'
import { titleOf } from './print.ts'
import type { SessionClient } from '../requests.ts'

export interface Lines {
  /** Null when the user leaves or the question is withdrawn. */
  next(question: string): Promise<string | null>
  drop(): void
}

export class QuestionPrompts {
  readonly left: Promise<void>
  readonly #leave: () => void
  readonly #ctx: Pick<Context, 'out'>
  readonly #at: SessionClient
  readonly #lines: Lines
  readonly #open = new Map<string, Question>()
  readonly #answered = new Set<string>()
  #asking: Promise<void> | null = null
  #current: string | null = null

  constructor(ctx: Pick<Context, 'out'>, at: SessionClient, lines: Lines) {
    this.#ctx = ctx
    this.#at = at
    this.#lines = lines
    const { promise, resolve } = Promise.withResolvers<void>()
    this.left = promise
    this.#leave = resolve
  }

  take(question: Question): void {
    const { question_id: id, status } = question
    if (status === 'open') {
      if (!this.#answered.has(id)) this.#open.set(id, question)
      this.#asking ??= this.#askAll().finally(() => (this.#asking = null))
      return
    }
    this.#open.delete(id)
    // Answered elsewhere, or withdrawn.
    if (this.#current === id) this.#lines.drop()
  }

  /** Questions from before the conversation was opened. */
  async askOpen(): Promise<void> {
    const { questions } = await this.#at.get('/questions', { query: { status: 'open' } })
    for (const question of questions.toReversed()) this.take(question)
    await this.#asking
  }

  async #askAll(): Promise<void> {
    for (let [question] = this.#open.values(); question !== undefined; [question] = this.#open.values()) {
      this.#current = question.question_id
      const hasLeft = await this.#ask(question).catch((error: unknown) => {
        if (!(error instanceof Error)) throw error
        this.#ctx.out.progress(red('error: '), error.message)
        // A conflict means that another user answered first. After any other error, ask again.
        return error instanceof ServiceError && error.code === 'conflict' ? this.#done(question!) : false
      })
      this.#current = null
      if (hasLeft) return this.#leave()
    }
  }

  #done({ question_id: id }: Question): false {
    this.#answered.add(id)
    this.#open.delete(id)
    return false
  }

  async #ask(question: Question): Promise<boolean> {
    const { out } = this.#ctx
    const { question_id: id, kind, detail, options } = question
    out.clearPassing()
    out.progress(yellow('? '), bold(titleOf(question)))
    if (detail !== '') for (const line of detail.split('\n')) out.progress(dim(`  ${line}`))
    for (const [i, { label }] of options.entries()) out.progress(`  ${i + 1}  ${label}`)
    const what =
      options.length === 0 ? 'answer' : kind === 'question' ? `1-${options.length} or text` : `1-${options.length}`
    for (;;) {
      const line = await this.#lines.next(`${what} › `)
      if (line === null) {
        if (this.#open.has(id)) return true
        out.progress(dim('  The question was withdrawn.'))
        return false
      }
      const answer = answerOf(question, line.trim())
      if (answer === null) continue
      await this.#at.post('/questions/{questionId}/answer', { path: { questionId: id }, body: { answer } })
      const label = options.find(({ value }) => value === answer)?.label
      if (label !== undefined) out.progress(green('  ✓ '), label)
      return this.#done(question)
    }
  }
}

function answerOf({ kind, options }: Question, line: string): string | null {
  const byNumber = /^\d{1,2}$/.test(line) ? options[Number(line) - 1] : undefined
  const byWord = options.find(({ value, label }) =>
    [value, label].some((it) => it.toLowerCase() === line.toLowerCase()),
  )
  const found = byNumber ?? byWord
  if (found !== undefined) return found.value
  return kind === 'question' && line !== '' ? line : null
}
