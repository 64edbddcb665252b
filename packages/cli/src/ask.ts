/** Questions. They are asked on stderr, so that stdout stays data, and only where somebody can answer. */
import type { Readable, Writable } from 'node:stream'
import type { Context } from './context.ts'
import { Refusal, UsageError } from './errors.ts'
import { safe } from './safe.ts'

/** A question before something that cannot be undone. `yes` is the `--yes` flag. */
export async function confirm(
  ctx: Context,
  options: { question: string; yes: boolean; corrected: string },
): Promise<void> {
  if (options.yes) return
  if (!ctx.interactive)
    throw new UsageError(`${safe(options.question)} Nobody is there to answer: confirm with --yes`, {
      next: [options.corrected],
    })
  if (!(await ask(ctx, options.question))) throw cancelled()
}

/** Null when nobody is there to answer. */
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

/** Arrow keys, and letters to filter. `corrected` is the command that needs no picker. */
export async function pick<T>(
  ctx: Context,
  options: {
    question: string
    missing: string
    corrected: string
    choices: readonly { value: T; label: string; hint?: string }[]
  },
): Promise<T> {
  if (!ctx.interactive)
    throw new UsageError(`Missing ${options.missing}`, {
      hint: 'Without a terminal there is no picker.',
      next: [options.corrected],
    })
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

function streams(ctx: Context): { input: Readable; output: Writable; signal: AbortSignal } {
  return { input: ctx.io.stdin as Readable, output: ctx.io.stderr.stream, signal: ctx.io.signal }
}

function cancelled(): Refusal {
  return new Refusal('cancelled', 'Cancelled: nothing was changed')
}
