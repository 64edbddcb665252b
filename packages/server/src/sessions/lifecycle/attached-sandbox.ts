import { withDeadline } from '../../deadline.ts'
import type { Deps } from '../../deps.ts'
import type { Redactor } from '../../redaction/redaction.ts'
import { type DaemonAddress, readHealth } from '../../sandboxes/daemon-client.ts'
import { sandboxKey } from '../../sandboxes/key.ts'
import { sandboxEndedCode } from '../conversation/assemble.ts'
import { Follower } from '../conversation/follow.ts'
import type { RuntimeEvents } from '../conversation/runtime-events.ts'
import type { StoredConversation } from '../conversation/stored.ts'
import { TurnSpan } from '../conversation/turn-span.ts'
import type { SessionWithSandbox } from '../store.ts'
import { WipWatch } from '../unfinished-work/watch.ts'
import { actsFor } from './acts-for.ts'
import { unansweredReason } from './end-generation.ts'

/** A daemon answers this at once, also while it saves. A stop waits no longer for one that does not. */
export const silentMs = 2_500
/** A daemon confirms a prompt at once, unless its runtime has to wake first. */
const deliveryMsMax = 3_000

/** A running sandbox of this server, which follows its conversation and saves its unfinished work. */
export interface AttachedSandbox {
  sandboxId: string
  projectId: string
  daemon: DaemonAddress
  /** When the driver first did not find it, without an exit reason yet, in milliseconds of the epoch. */
  missingSince: number | null
  redactor: Redactor
  follower: Follower
  wip: WipWatch
  /** Resolves once a server that stops knows whether to wait for the daemon, and has cut its requests if not. */
  giveUpIfSilent(): Promise<void>
  /** The agent got the conversation of earlier sandboxes. */
  knowsEarlier: boolean
  /** It ends, so further prompts wait for the next sandbox. */
  isLeaving: boolean
  /** Cuts a delivery that takes too long for a sandbox that ends. */
  cut: AbortController
  /** How often the work that this start begins with may still be applied. */
  carryTries: number
}

/** What follows a sandbox outlives the request or the job that started it. */
export function attachSandbox(...given: Parameters<typeof attach>): AttachedSandbox {
  const [{ tracing }] = given
  return tracing.apart(() => attach(...given))
}

function attach(
  deps: Omit<Deps, 'sessions'>,
  session: SessionWithSandbox,
  input: {
    daemonSocket: string
    sandboxId: string
    runtimeSessionId: string | null
    firstPrompt: string | null
    /** Stored by an earlier server when the conversation goes on; null for a new one. */
    stored: StoredConversation | null
    isAsleep?: boolean
  },
  on: RuntimeEvents & { saveStateChanged: () => void },
): AttachedSandbox {
  const { session_id: sessionId, generation, created_at } = session
  const { daemonSocket: socket, sandboxId, runtimeSessionId, firstPrompt: text, stored } = input
  const giveUp = new AbortController()
  const { signal: givenUp } = giveUp
  const daemon = { socket, sandboxKey: sandboxKey(deps, sandboxId), sessionId, generation, givenUp }
  const redactor = deps.redaction.of(sessionId)
  const follower = new Follower(deps, daemon, {
    redactor,
    span: new TurnSpan(deps, session),
    userId: actsFor(session) ?? '',
    runtimeSessionId,
    turn: text !== null || (stored !== null && session.is_busy) ? 'busy' : 'idle',
    stored,
    isAsleep: input.isAsleep ?? false,
    prompt: text === null ? null : { prompt_id: sessionId, created_at, attachments: [], text },
    on,
  })
  const wip = new WipWatch(deps, daemon, {
    spaceChanged: on.saveStateChanged,
    sleepSeen: (asleepMs) => follower.sleepSeen(asleepMs),
  })
  follower.start()
  const beforeUse = async () => {
    wip.wakes()
    await follower.awake()
  }
  const giveUpIfSilent = async () => {
    const { kind } = await readHealth(socket, { timeoutMs: silentMs })
    if (kind !== 'ok') giveUp.abort(new Error('The sandbox does not answer.'))
  }
  return {
    ...{
      sandboxId,
      projectId: session.project_id,
      daemon: { ...daemon, beforeUse },
      missingSince: null,
      redactor,
      follower,
      wip,
      knowsEarlier: false,
      isLeaving: false,
      cut: new AbortController(),
      carryTries: generation === 1 && session.continues_session_id === null ? 0 : 3,
    },
    giveUpIfSilent,
  }
}

/** Ends the turn of a sandbox whose session goes on in another one. */
export async function leaveTurn(
  deps: Pick<Deps, 'localLocks'>,
  attached: AttachedSandbox | undefined,
  reason: string,
): Promise<void> {
  if (attached === undefined) return
  await endDeliveries(deps, attached)
  await attached.follower.interruptTurn({ code: sandboxEndedCode, message: reason })
}

/** Stores what the agent did last, before the sandbox ends. */
export async function endAttached(deps: Pick<Deps, 'localLocks'>, attached: AttachedSandbox): Promise<void> {
  await endDeliveries(deps, attached)
  // Rejected questions end the turn, so that the last save is complete.
  await attached.follower.questions.reject(unansweredReason)
  await attached.wip.end()
  await attached.follower.stop()
}

/**
 * The agent gets no further prompt, which could fail here and run again in the next sandbox. A delivery that is under way is
 * recorded first, unless it takes too long.
 */
async function endDeliveries({ localLocks }: Pick<Deps, 'localLocks'>, attached: AttachedSandbox): Promise<void> {
  attached.isLeaving = true
  const recorded = localLocks.run(`prompts ${attached.daemon.sessionId}`, async () => {})
  await withDeadline(recorded, deliveryMsMax, () => {})
  attached.cut.abort()
}
