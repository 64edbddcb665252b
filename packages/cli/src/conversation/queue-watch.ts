/** A prompt that waits for earlier ones: how many those are, and whether someone cancels it. */
import type { Prompt } from '@svc/sdk'
import { sleep } from '../io.ts'
import { promptCancelled, promptFailed } from './prompt-errors.ts'
import type { Context } from '../context.ts'
import type { SessionClient } from '../requests.ts'

const pollMs = 1_000
const newestPrompts = 100

interface Queued {
  promptId: string
  /** The agent does not have the prompt yet. */
  isWaiting(): boolean
  /** Another prompt's turn runs. */
  isAtWork(): boolean
  waits(ahead: number): void
}

/** Returns once the agent has the prompt, and throws when it never gets it. */
export async function watchQueue(
  ctx: Pick<Context, 'next'>,
  at: SessionClient,
  { promptId, isWaiting, isAtWork, waits }: Queued,
  signal: AbortSignal,
): Promise<void> {
  for (let isTold = false; isWaiting();) {
    const prompts = await readPrompts(at, signal)
    const own = prompts.findIndex((prompt) => prompt.prompt_id === promptId)
    const status = prompts[own]?.status
    if (!isWaiting() || status === 'delivered') return
    if (status === 'cancelled') throw promptCancelled(ctx, at.id)
    if (status === 'failed') throw promptFailed(prompts[own]?.error?.message ?? null)
    if (status === 'accepted' && !isTold) {
      const ahead = prompts.slice(own + 1).filter((prompt) => prompt.status === 'accepted').length
      waits(ahead + (isAtWork() ? 1 : 0))
      isTold = true
    }
    await sleep(pollMs, signal)
  }
}

/** Whether the prompt was cancelled. No message says so. */
export async function isCancelled(at: SessionClient, promptId: string, signal: AbortSignal): Promise<boolean> {
  const prompts = await readPrompts(at, signal)
  return prompts.some(({ prompt_id: id, status }) => id === promptId && status === 'cancelled')
}

/** Newest first. None while the server is away: the stream of events waits for it, and reports when it stays away. */
async function readPrompts(at: SessionClient, signal: AbortSignal): Promise<Prompt[]> {
  const nothing = () => ({ prompts: [] })
  const { prompts } = await at.get('/prompts', { query: { limit: newestPrompts }, signal }).catch(nothing)
  return prompts
}
