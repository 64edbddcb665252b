import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'

export const promptFailed = (reason: string | null) =>
  new Refusal('prompt_failed', reason ?? 'The agent did not accept the prompt')

export function promptCancelled({ next }: Pick<Context, 'next'>, sessionId: string): Refusal {
  return new Refusal('prompt_cancelled', 'The prompt was cancelled while it waited, so the agent never got it', {
    hint: 'Someone took it out of the queue or aborted the agent. Send it again if you still need the answer.',
    next: [next(`svc sessions chat ${sessionId.slice(0, 8)}`)],
  })
}
