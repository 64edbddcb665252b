/** What a follower reports of the agent runtime, and reads from it. */
import { parseJson } from '@svc/contract'
import { boundedText } from '../../sandboxes/daemon-client.ts'
import type { TurnFailure } from './assemble.ts'
import type { SleepListener } from './rest.ts'

export interface RuntimeEvents {
  /** The runtime ended and is restarted; null once it answers again. */
  trouble: (error: string | null) => void
  givenUp: (reason: string) => void
  turnStored: () => void
  /** The turn is over, and a prompt waits for its end. */
  nextPrompt: () => void
  sleepChanged: SleepListener
}

export const runtimeEnded: TurnFailure = {
  code: 'runtime_ended',
  message: 'The agent runtime ended during this turn and was restarted.',
}

const statusBytesMax = 1024 * 1024

/** Null when the runtime does not support this request. */
export async function statusOfRuntime(response: Response, runtimeSessionId: string): Promise<string | null> {
  const text = await boundedText(response, statusBytesMax)
  if (!response.ok) return null
  const statuses = parseJson(text) as Record<string, { type?: string } | undefined> | null | undefined
  return statuses == null ? null : (statuses[runtimeSessionId]?.type ?? 'idle')
}
