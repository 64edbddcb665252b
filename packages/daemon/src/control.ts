/** The routes under /svc: what the server says to the daemon. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { DaemonHealth, EnvReply, PromptReply, RefreshReply } from '@svc/contract/daemon'

import type { Access, RequestHead } from './access.ts'
import type { Conversation } from './conversation.ts'
import { ControlError, readJson, runtimeBooting, sendJson, unauthenticated } from './reply.ts'
import type { SessionEnv } from './session-env.ts'
import type { RefreshOutcome } from './workspace.ts'

/** What exists once the boot has come so far; null before. */
export interface ControlParts {
  access: Access | null
  conversation: Conversation | null
  sessionEnv: SessionEnv | null
  refresh: (() => Promise<RefreshOutcome>) | null
  health: () => Promise<DaemonHealth>
}

const textBytesMax = 512 * 1024

export async function handleControl(
  name: string,
  req: IncomingMessage,
  res: ServerResponse,
  head: RequestHead,
  parts: ControlParts,
): Promise<void> {
  if (name === 'health') {
    if (head.method !== 'GET' && head.method !== 'HEAD') throw wrongMethod('GET')
    sendJson(res, 200, await parts.health())
    return
  }
  const action = actions[name as keyof typeof actions]
  // Before the question whether the route exists: a stranger learns nothing here.
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.control(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (!Object.hasOwn(actions, name) || action === undefined) {
    throw new ControlError(404, 'not_found', `The daemon has no route /svc/${name.slice(0, 100)}.`)
  }
  if (head.method !== 'POST') throw wrongMethod('POST')
  sendJson(res, 200, await action(await readJson(req), parts))
}

const actions = {
  async prompt(body: Record<string, unknown>, parts: ControlParts): Promise<PromptReply> {
    const { text, prompt_id: promptId } = body
    if (typeof text !== 'string' || text.trim() === '') throw invalid('"text" must be a text that is not empty.')
    if (Buffer.byteLength(text) > textBytesMax) throw invalid('"text" is larger than 512 KiB.')
    if (promptId !== undefined && (typeof promptId !== 'string' || promptId === '' || promptId.length > 200)) {
      throw invalid('"prompt_id" must be a text of 1 to 200 characters.')
    }
    if (parts.conversation === null) throw runtimeBooting()
    return { ok: true, runtime_session_id: await parts.conversation.prompt(text, promptId ?? null) }
  },

  async abort(_: Record<string, unknown>, parts: ControlParts): Promise<{ ok: true }> {
    if (parts.conversation === null) throw runtimeBooting()
    await parts.conversation.abort()
    return { ok: true }
  },

  async refresh(_: Record<string, unknown>, parts: ControlParts): Promise<RefreshReply> {
    if (parts.refresh === null) throw runtimeBooting()
    const outcome = await parts.refresh()
    switch (outcome.kind) {
      case 'updated':
        return { ok: true, before: outcome.before, after: outcome.after }
      case 'not-fast-forward':
        throw new ControlError(409, 'not_fast_forward', `The session branch cannot fast-forward: ${outcome.reason}`, {
          hint: 'Commit or drop what is in the way in the session, push, then refresh again.',
        })
      case 'failed':
        throw new ControlError(502, 'refresh_failed', `The refresh failed: ${outcome.reason}`)
      default:
        return outcome satisfies never
    }
  },

  async env(body: Record<string, unknown>, parts: ControlParts): Promise<EnvReply> {
    const { revision, env } = body
    if (typeof revision !== 'string' || revision.length > 200) throw invalid('"revision" must be a text.')
    if (typeof env !== 'object' || env === null || Array.isArray(env)) throw invalid('"env" must be an object.')
    if (parts.sessionEnv === null) throw runtimeBooting()
    return { ok: true, changed: parts.sessionEnv.replace(revision, env as Record<string, string>) }
  },
}

const invalid = (message: string) => new ControlError(400, 'invalid', message)

const wrongMethod = (allowed: string) =>
  new ControlError(405, 'invalid', `This route takes ${allowed}.`, { headers: { allow: allowed } })
