/** Prompts. They use stderr, so that stdout stays data, and only a terminal. */
import type { Readable, Writable } from 'node:stream'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { safe } from './safe.ts'

/** Confirms an irreversible action. `yes` is the `--yes` flag. */
export async function confirm(
  ctx: Context,
  options: { question: string; yes: boolean; corrected: string },
): Promise<void> {
  if (options.yes) return
  if (!ctx.interactive)
    throw new UsageError(`${safe(options.question)} Without a terminal, confirm with --yes`, {
      next: [options.corrected],
    })
  if (!(await ask(ctx, options.question))) throw cancelled()
}

export async function ask(ctx: Context, question: string): Promise<boolean | null> {
  if (!ctx.interactive) return null
  const prompts = await import('@clack/prompts')
  const answer = await prompts.confirm({
    message: safe(question),
    initialValue: false,
    withGuide: false,
    ...streams(ctx),
  })
  if (prompts.isCancel(answer)) throw cancelled()
  return answer
}

/** A picker with arrow keys and a filter. `corrected` is the command that needs no picker. */
export async function pick<T>(
  ctx: Context,
  options: {
    question: string
    missing: string
    corrected: string
    choices: readonly { value: T; label: string; hint?: string }[]
  },
): Promise<T> {
  requireTerminal(ctx, 'A picker needs a terminal.', options)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.autocomplete<number>({
    message: safe(options.question),
    options: options.choices.map((choice, i) => ({
      value: i,
      label: safe(choice.label),
      ...(choice.hint === undefined ? {} : { hint: safe(choice.hint) }),
    })),
    maxItems: 12,
    withGuide: false,
    ...streams(ctx),
  })
  if (prompts.isCancel(answer)) throw cancelled()
  return options.choices[answer]!.value
}

/** Reads a secret without showing it. `corrected` is the command that needs no prompt. */
export async function askHidden(
  ctx: Context,
  options: { question: string; missing: string; corrected: string },
): Promise<string> {
  requireTerminal(ctx, 'A prompt for it needs a terminal.', options)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.password({
    message: safe(options.question),
    validate: (value) => (value ? undefined : 'The value is empty'),
    withGuide: false,
    ...streams(ctx),
  })
  if (prompts.isCancel(answer)) throw cancelled()
  return answer
}

function requireTerminal(ctx: Context, hint: string, { missing, corrected }: { missing: string; corrected: string }) {
  if (!ctx.interactive) throw new UsageError(`Missing ${missing}`, { hint, next: [corrected] })
}

function streams(ctx: Context): { input: Readable; output: Writable; signal: AbortSignal } {
  return { input: ctx.io.stdin as Readable, output: ctx.io.stderr.stream, signal: ctx.io.signal }
}

function cancelled(): Refusal {
  return new Refusal('cancelled', 'Cancelled: nothing changed')
}
