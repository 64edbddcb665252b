/** The one conversation of a sandbox, prompted through the runtime's HTTP API. */
import { bareModelName, modelProvider } from '@svc/contract/schemas/model-names'

import type { PromptBody } from '@svc/contract/daemon/control'
import { endOfPromptPart } from '@svc/contract/daemon/prompt-part'
import type { AgentRuntime } from './agent-runtime.ts'
import { ControlError, runtimeBooting } from '../http/reply.ts'
import { runtimeId } from './runtime-id.ts'

export type Conversation = ReturnType<typeof createConversation>

const promptsKept = 2000
const callMs = 30_000
/** The first requests load the project, which takes long where many agents start at once. */
const loadMs = 90_000
const rehearsalMs = 60_000
/** A busy machine may take this long to report the exit of a killed process. */
const exitMs = 2_000

export function createConversation(options: {
  runtime: AgentRuntime
  agentName: string | null
  /** The session's model, which overrides its agent's. */
  model: string | null
  /** The models that the runtime knows. */
  models: readonly string[]
  title: string
}) {
  const { runtime } = options
  let { agentName } = options
  let sessionId: string | null = null
  let opening: Promise<string> | null = null
  const checked = new Set<string>()
  let modelsLoaded: Promise<void> | null = null
  const delivered = new Map<string, Promise<Delivery>>()
  /** The ids of prompts that the runtime did not confirm. Sent again under the same ids, such a prompt replaces itself. */
  const unconfirmed = new Map<string, PromptIds>()
  let loadedBy = -1

  const call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, timeoutMs = callMs) =>
    runtime.whileInUse(() => send(method, path, body, timeoutMs))

  async function send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: unknown,
    timeoutMs: number,
  ): Promise<string> {
    if (runtime.state === 'failed') {
      throw new ControlError(502, 'runtime_failed', runtime.error ?? 'The agent runtime is not running.')
    }
    if (runtime.state !== 'ready') throw runtimeBooting()
    const start = runtime.starts
    let reply: Response
    let text: string
    try {
      reply = await fetch(`http://127.0.0.1:${runtime.port}${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        signal: AbortSignal.timeout(timeoutMs),
        keepalive: false,
      })
      text = await reply.text()
    } catch (cause) {
      // The daemon restarts it, or gives up and says so to the next call.
      if (await runtime.hasEnded(start, exitMs)) throw runtimeBooting()
      const isLate = cause instanceof DOMException && cause.name === 'TimeoutError'
      const what = isLate ? `did not answer within ${timeoutMs / 1000} seconds` : 'closed the connection'
      throw new ControlError(502, 'runtime_failed', `The agent runtime ${what}.`, { cause })
    }
    if (!reply.ok) {
      const said = text.slice(0, 500)
      throw new ControlError(502, 'runtime_failed', `The agent runtime answered ${reply.status} to ${path}: ${said}`)
    }
    return text
  }

  /** The runtime accepts an unknown agent and then never finishes, so check first. */
  async function checkAgent(name: string | null): Promise<void> {
    if (name === null || checked.has(name)) return
    const agents = JSON.parse(await call('GET', '/agent', undefined, loadMs)) as { name?: unknown; mode?: unknown }[]
    const names = agents.filter((agent) => agent.mode !== 'subagent').map((agent) => String(agent.name))
    if (!names.includes(name)) {
      throw new ControlError(409, 'agent_not_found', `There is no agent called "${name}".`, {
        hint: `The default branch has these agents: ${names.join(', ')}`,
      })
    }
    checked.add(name)
  }

  /** The runtime reads its models at its start. */
  function checkModel(name: string | null): void {
    if (name === null || name === options.model || options.models.includes(name)) return
    throw new ControlError(409, 'model_not_found', `This sandbox does not know the model "${name}" yet.`, {
      hint: 'Restart the session, then send the prompt again.',
    })
  }

  async function make(title: string): Promise<string> {
    const made = JSON.parse(await call('POST', '/session', { title }, loadMs)) as { id?: unknown }
    if (typeof made.id !== 'string')
      throw new ControlError(502, 'runtime_failed', 'The agent runtime returned no session.')
    return made.id
  }

  async function open(): Promise<string> {
    if (sessionId !== null) return sessionId
    opening ??= make(options.title).then((id) => (sessionId = id))
    try {
      return await opening
    } finally {
      opening = null
    }
  }

  /** Readers of the conversation see a note as text from the service, not from a person. */
  async function deliver(text: string, note: string | null, ids: PromptIds, choice: PromptChoice): Promise<Delivery> {
    const agent = choice.agent ?? agentName
    const model = choice.model === undefined ? options.model : choice.model && bareModelName(choice.model)
    await checkAgent(agent)
    checkModel(model)
    const id = await open()
    const { starts } = runtime
    await call('POST', `/session/${encodeURIComponent(id)}/prompt_async`, {
      ...(agent === null ? {} : { agent }),
      ...(model === null ? {} : { model: { providerID: modelProvider, modelID: model } }),
      messageID: ids.message,
      parts: [
        { type: 'text', id: ids.text, text },
        ...(note === null ? [] : [{ type: 'text', id: ids.note, text: note, synthetic: true }]),
      ],
    })
    return { sessionId: id, starts, wasTaken: false }
  }

  async function deliverOnce(
    promptId: string,
    text: string,
    note: string | null,
    choice: PromptChoice,
  ): Promise<Delivery> {
    const ids = unconfirmed.get(promptId) ?? newIds(promptId)
    unconfirmed.set(promptId, ids)
    const delivery = await deliver(text, note, ids, choice)
    unconfirmed.delete(promptId)
    return delivery
  }

  return {
    get runtimeSessionId() {
      return sessionId
    },
    open,
    /**
     * A prompt delivered twice under one id runs once. The run of one that the runtime took without a confirmation has
     * ended with the runtime.
     */
    prompt(text: string, promptId: string | null, note: string | null, choice: PromptChoice = {}): Promise<Delivery> {
      if (promptId === null) return deliver(text, note, newIds(null), choice)
      const before = delivered.get(promptId)
      if (before !== undefined) return before.then((delivery) => ({ ...delivery, wasTaken: true }))
      const now = deliverOnce(promptId, text, note, choice)
      delivered.set(promptId, now)
      // A failed prompt did not run, so the same id may be sent again.
      now.catch(() => delivered.delete(promptId))
      for (const kept of [delivered, unconfirmed]) if (kept.size > promptsKept) kept.delete(kept.keys().next().value!)
      return now
    },
    async abort(): Promise<void> {
      // The runtime loads its models at the first prompt and keeps the result. An abort during that load would break
      // every later prompt, so let the load finish first.
      if (loadedBy !== runtime.run) modelsLoaded = null
      loadedBy = runtime.run
      modelsLoaded ??= call('GET', '/config/providers').then(
        () => {},
        () => {
          // Another runtime may not have this route; then there is nothing to wait for.
        },
      )
      await modelsLoaded
      if (sessionId !== null) await call('POST', `/session/${encodeURIComponent(sessionId)}/abort`)
    },
    /** The first use makes the runtime read its configuration; this does it before the first prompt. */
    async warm(): Promise<void> {
      await call('GET', '/agent')
    },
    /** Runs one complete turn in a throw-away conversation, so that the first real prompt finds everything loaded. */
    async rehearse(): Promise<void> {
      const path = `/session/${encodeURIComponent(await make('warm-up'))}`
      try {
        await call('POST', `${path}/message`, { parts: [{ type: 'text', text: 'Say ok.' }] }, rehearsalMs)
      } finally {
        await call('DELETE', path)
      }
    },
    /** For later prompts. */
    setAgent(next: string | null): void {
      agentName = next
      checked.clear()
    },
  }
}

/** The agent and the model of one prompt, where they differ from the sandbox's. */
export type PromptChoice = Pick<PromptBody, 'agent' | 'model'>

/** The conversation, and which start of the runtime took the prompt, now or before. */
interface Delivery {
  sessionId: string
  starts: number
  wasTaken: boolean
}

interface PromptIds {
  message: string
  text: string
  note: string
}

/** The runtime orders the parts of a message by their ids, too. */
const newIds = (promptId: string | null): PromptIds => ({
  message: runtimeId('msg'),
  text: runtimeId('prt', promptId === null ? null : endOfPromptPart(promptId)),
  note: runtimeId('prt'),
})
