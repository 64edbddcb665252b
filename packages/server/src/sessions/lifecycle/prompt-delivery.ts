/** Delivers the accepted prompts of a session to its sandbox. */
import { attachmentsNote } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { handledElsewhere } from '../../deadline.ts'
import { abortRun, type DaemonOutcome, sendPrompt } from '../../sandboxes/daemon-client.ts'
import { sandboxesOf } from '../../sandboxes/store.ts'
import { sendAttachments } from '../attachments/deliver.ts'
import { readEarlierConversation } from '../conversation/earlier-conversation.ts'
import { failCutTurn, startWithPrompt } from '../conversation/message-store.ts'
import {
  type AcceptedPrompt,
  acceptedPrompts,
  cancelledReason,
  finishPrompt,
  type PromptError,
  setDelivery,
} from '../conversation/prompt-store.ts'
import { applyCarriedWork } from '../unfinished-work/carried-work.ts'
import type { AttachedSandbox } from './attached-sandbox.ts'

type DeliveryDeps = Pick<Deps, 'config' | 'db' | 'feed' | 'homeGate' | 'log' | 'now' | 'warm'>

/** How long a prompt waits until the work of the turn before it is saved. A save takes longer only in a large work tree. */
const saveMsMax = 2_000

/** The codes of a daemon are not trusted. */
const promptErrorCode = /^[a-z_]{1,50}$/

/**
 * Delivers in order, each when the turn of the one before is over: until then it can be cancelled. A prompt that the daemon
 * cannot take yet, or not before the server or the sandbox ends, stays accepted, as do those of a project that moves away.
 */
export async function deliverPrompts(
  deps: DeliveryDeps,
  attached: AttachedSandbox,
  closes: AbortSignal,
): Promise<void> {
  const { daemon, follower, redactor } = attached
  const signal = AbortSignal.any([closes, attached.cut.signal])
  const { sessionId } = daemon
  const isMoving = () => deps.homeGate.isClosed(attached.projectId)
  if (isMoving() || !(await isReady(deps, attached))) return
  const prompts = await acceptedPrompts(deps.db, sessionId)
  // Cancelled just before the end of a turn found that it waits.
  if (prompts.length === 0) follower.promptFinished()
  for (const prompt of prompts) {
    if (await wasTakenBefore(deps, attached, prompt)) continue
    // The daemon has a prompt whose delivery began, or takes it now, under the same id.
    const mayHaveIt = prompt.delivery_generation === daemon.generation
    const isLeaving = () => signal.aborted || attached.isLeaving || isMoving()
    const mayBegin = () => !isLeaving() && (mayHaveIt || follower.mayTake(prompt))
    if (!mayHaveIt && mayBegin()) await attached.wip.beforeTurn(saveMsMax)
    if (!mayBegin()) return
    if (!(await setDelivery(deps.db, prompt.prompt_id, daemon.generation))) {
      follower.promptFinished()
      continue
    }
    deps.warm.isNeeded()
    const begins = follower.beginTurn(prompt)
    attached.wip.turnBegins()
    const outcome = await untilCut(deliver(deps, attached, prompt), signal)
    if (outcome.kind === 'ok') {
      attached.knowsEarlier = true
      follower.delivered(outcome.value)
      // A prompt that was cancelled meanwhile must not run.
      if (!(await finish(deps, attached, prompt, 'delivered', null))) await abortRun(daemon, {})
      follower.promptFinished()
    } else if (outcome.kind === 'refused' && outcome.code !== 'runtime_booting') {
      const code = promptErrorCode.test(outcome.code) ? outcome.code : 'prompt_failed'
      const failure = { code, message: redactor.text(outcome.reason) }
      // Before the end of the turn, so that a reader knows which prompt failed.
      await finish(deps, attached, prompt, 'failed', failure)
      if (begins) follower.failTurn(failure)
      else deps.feed.publish(sessionId, { type: 'turn', status: 'error', error: failure.message })
    } else {
      deps.log.info({ session_id: sessionId, reason: outcome.reason }, 'the daemon cannot take a prompt yet')
      if (outcome.kind === 'refused') await setDelivery(deps.db, prompt.prompt_id, null)
      return
    }
  }
}

/**
 * Whether the agent of an earlier sandbox had the prompt, and that sandbox ended before the delivery was recorded. The agent
 * may have done part of the work, so this is the end of a turn like any other: nothing runs twice.
 */
async function wasTakenBefore(
  deps: DeliveryDeps,
  attached: AttachedSandbox,
  prompt: Awaited<ReturnType<typeof acceptedPrompts>>[number],
): Promise<boolean> {
  const { sessionId: session_id, generation } = attached.daemon
  const { prompt_id } = prompt
  // Not only in the sandbox that the prompt names: a runtime that ends after it took a prompt looks as if it had not.
  const taken = await startWithPrompt(deps.db, { session_id, before: generation, prompt_id })
  if (taken === null) return false
  const ended = (await sandboxesOf(deps.db, session_id)).find((row) => row.generation === taken)
  const reason = ended?.error ?? 'The sandbox ended during this turn.'
  await failCutTurn(deps.db, { session_id, generation: taken }, reason)
  await finish(deps, attached, prompt, 'delivered', null)
  attached.follower.promptFinished()
  return true
}

/** The agent begins with the work that its start brings. After some tries, its first prompt says that it is missing. */
async function isReady(deps: DeliveryDeps, attached: AttachedSandbox): Promise<boolean> {
  if (attached.carryTries === 0) return true
  const isDone = await applyCarriedWork(deps, attached)
  attached.carryTries = isDone ? 0 : attached.carryTries - 1
  return isDone
}

async function deliver(
  deps: Pick<Deps, 'db'>,
  { daemon, knowsEarlier }: AttachedSandbox,
  prompt: Awaited<ReturnType<typeof acceptedPrompts>>[number],
) {
  const { prompt_id, text, attachments, agent_name: agent, model } = prompt
  const earlier = knowsEarlier ? null : await readEarlierConversation(deps, daemon)
  const files = [...(earlier?.attachments ?? []), ...attachments]
  const notSent = await sendAttachments(deps, daemon, { attachments: files })
  if (notSent !== null) return notSent
  const notes = attachments.length === 0 ? [] : [attachmentsNote(attachments)]
  // Readers of the note look for the files of the prompt in its first paragraph, which may be empty.
  if (earlier !== null) notes.push(...(notes.length === 0 ? [''] : []), earlier.note)
  const choice = agent === null ? {} : { agent, model }
  return sendPrompt(daemon, { text, prompt_id, ...choice, ...(notes.length === 0 ? {} : { note: notes.join('\n\n') }) })
}

/** The daemon may take the prompt all the same. It runs once, because the next server delivers it under the same id. */
async function untilCut<T>(delivery: Promise<DaemonOutcome<T>>, signal: AbortSignal): Promise<DaemonOutcome<T>> {
  const over = Promise.withResolvers<DaemonOutcome<T>>()
  const cut = () => over.resolve({ kind: 'unavailable', reason: 'The server or the sandbox is stopping.' })
  if (signal.aborted) cut()
  signal.addEventListener('abort', cut, { once: true })
  delivery.catch(handledElsewhere)
  try {
    return await Promise.race([delivery, over.promise])
  } finally {
    signal.removeEventListener('abort', cut)
  }
}

export async function cancelPrompts(deps: DeliveryDeps, attached: AttachedSandbox): Promise<void> {
  const reason = { code: 'cancelled', message: cancelledReason }
  for (const prompt of await acceptedPrompts(deps.db, attached.daemon.sessionId)) {
    const isCancelled = await finish(deps, attached, prompt, 'cancelled', reason)
    if (isCancelled) attached.follower.cancelTurn(prompt, reason.message)
  }
}

async function finish(
  deps: DeliveryDeps,
  { redactor, follower }: AttachedSandbox,
  prompt: AcceptedPrompt,
  status: 'delivered' | 'failed' | 'cancelled',
  error: PromptError | null,
): Promise<boolean> {
  const result = { status, text: redactor.text(prompt.text), error, at: deps.now() }
  const isFinished = await finishPrompt(deps.db, prompt.prompt_id, result)
  if (isFinished && error !== null) await follower.failPrompt(prompt, error)
  return isFinished
}
