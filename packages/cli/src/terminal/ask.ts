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
  return prompt(ctx, ({ confirm }, shared) => confirm({ message: safe(question), initialValue: false, ...shared }))
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
  const choices = options.choices.map(({ label, hint }, i) => ({
    value: i,
    label: safe(label),
    ...(hint === undefined ? {} : { hint: safe(hint) }),
  }))
  const answer = await prompt(ctx, ({ autocomplete }, shared) =>
    autocomplete<number>({ message: safe(options.question), options: choices, maxItems: 12, ...shared }),
  )
  return options.choices[answer]!.value
}

/** Reads a secret without showing it. `corrected` is the command that needs no prompt. */
export async function askHidden(
  ctx: Context,
  options: { question: string; missing: string; corrected: string },
): Promise<string> {
  requireTerminal(ctx, 'A prompt for it needs a terminal.', options)
  const validate = (value: string | undefined) => (value ? undefined : 'The value is empty')
  return prompt(ctx, ({ password }, shared) => password({ message: safe(options.question), validate, ...shared }))
}

function requireTerminal(ctx: Context, hint: string, { missing, corrected }: { missing: string; corrected: string }) {
  if (!ctx.interactive) throw new UsageError(`Missing ${missing}`, { hint, next: [corrected] })
}

/** Shows one prompt; throws when the user leaves it. */
export async function prompt<T>(
  { io }: Context,
  show: (
    prompts: typeof import('@clack/prompts'),
    shared: { withGuide: false; input: Readable; output: Writable; signal: AbortSignal },
  ) => Promise<T>,
): Promise<Exclude<T, symbol>> {
  const prompts = await import('@clack/prompts')
  const streams = { input: io.stdin as Readable, output: io.stderr.stream, signal: io.signal }
  const answer = await show(prompts, { withGuide: false, ...streams })
  if (prompts.isCancel(answer)) throw cancelled()
  return answer as Exclude<T, symbol>
}

function cancelled(): Refusal {
  return new Refusal('cancelled', 'Cancelled: nothing changed')
}
