import type { Readable } from 'node:stream'
import type { Context } from './context.ts'
import { Refusal, UsageError } from './errors.ts'
import { safe } from './safe.ts'

/** A secret, typed or pasted without being shown. `corrected` is the command that asks nothing. */
export async function askHidden(
  ctx: Context,
  options: { question: string; missing: string; corrected: string },
): Promise<string> {
  if (!ctx.interactive)
    throw new UsageError(`Missing ${options.missing}`, {
      hint: 'Nobody is there to be asked for it.',
      next: [options.corrected],
    })
  const prompts = await import('@clack/prompts')
  const answer = await prompts.password({
    message: safe(options.question),
    validate: (value) => (value ? undefined : 'It is empty'),
    withGuide: false,
    input: ctx.io.stdin as Readable,
    output: ctx.io.stderr.stream,
    signal: ctx.io.signal,
  })
  if (prompts.isCancel(answer)) throw new Refusal('cancelled', 'Cancelled: nothing was changed')
  return answer
}
