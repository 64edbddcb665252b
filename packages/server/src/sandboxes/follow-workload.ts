/** Follows the daemon of a workload sandbox: stores its redacted output and reports each change of its state. */
import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { type Line, type LogPosition, RedactedLines } from '../redaction/lines.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { PermanentFailure } from './failure-reason.ts'
import {
  isUnavailable,
  type WatchReply,
  watchWorkload,
  type WorkloadDaemon,
  WorkloadDaemonError,
} from './workload-daemon.ts'

const watchMs = 10_000
/** A shorter wait while the redactor holds lines back, so that silence releases them. */
const heldBackMs = 1_000
const retryMs = 500
const failuresMax = 20
const trimEvery = 20
/** Between two reads of a workload that keeps writing. */
export const readEveryMs = 300

interface Follow<L extends Line, End> {
  /** How far an earlier server stored the output; null for a new sandbox. */
  from: LogPosition | null
  linesOf(reply: WatchReply, after: number): (L & { seq: number })[]
  /** Stores lines together with how far the output is stored then. */
  append(lines: Pick<L, keyof Line>[], position: LogPosition): Promise<void>
  trim(): Promise<void>
  /** Called once every line before the state is stored. A result ends the loop. */
  onState(reply: WatchReply): Promise<End | null>
  /** The pause after a read with lines; `chars` is how much the workload wrote so far. */
  pauseMs?(chars: number): number
}

/** Output that could not be stored is read again. */
export async function followWorkload<L extends Line, End>(
  deps: Pick<Deps, 'log'> & { redactor: Redactor },
  daemon: WorkloadDaemon,
  follow: Follow<L, End>,
  signal: AbortSignal,
): Promise<End> {
  let stored = follow.from ?? { after: 0, ahead: {} }
  let after = stored.after
  let state: WatchReply['state'] | null = null
  let failures = 0
  let chunks = 0
  let chars = 0
  let lines = new RedactedLines<L>(deps.redactor, stored)
  for (;;) {
    signal.throwIfAborted()
    try {
      const waitMs = lines.isHolding ? heldBackMs : watchMs
      const reply = await watchWorkload(daemon, { after, state, wait_ms: waitMs }, signal)
      failures = 0
      const taken = lines.take(follow.linesOf(reply, after))
      // No new output completes a secret that the held-back characters of a quiet stream may begin.
      const redacted = [...lines.rest(reply.lines.length === 0 ? 0 : heldBackMs), ...taken]
      if (redacted.length > 0) {
        const { position } = lines
        await follow.append(redacted, position)
        stored = position
      }
      if (++chunks % trimEvery === 0) await follow.trim()
      after = reply.lines.at(-1)?.seq ?? after
      chars += redacted.reduce((sum, { text }) => sum + text.length, 0)
      const isOver = reply.state === 'done' || reply.state === 'failed'
      if (reply.state !== state && (!isOver || reply.lines.length === 0)) {
        const end = await follow.onState(reply)
        if (end !== null) return end
        state = reply.state
      }
      if (reply.lines.length > 0 && !isOver) await pause(follow.pauseMs?.(chars) ?? readEveryMs, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof PermanentFailure) throw error
      lines = new RedactedLines<L>(deps.redactor, stored)
      after = stored.after
      if (error instanceof WorkloadDaemonError || isUnavailable(error)) {
        if (++failures > failuresMax) throw new PermanentFailure('The daemon in its sandbox no longer answers.')
      } else deps.log.warn({ err: error }, 'storing the output of a workload failed; reading it again')
      await pause(retryMs, signal)
    }
  }
}

export const timeOf = (ms: number) => new Date(ms).toISOString()
