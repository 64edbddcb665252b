/** The routes under /svc: what the server says to the daemon. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { ClaimReply, DaemonHealth, EnvReply, FollowReply, PromptReply, RefreshReply } from '@svc/contract/daemon'

import type { Access, RequestHead } from './access.ts'
import type { Conversation } from './conversation.ts'
import { ControlError, readJson, runtimeBooting, sendJson, unauthenticated } from './reply.ts'
import type { SessionEnv } from './session-env.ts'
import type { WarmSandbox } from './warm.ts'
import type { WorkRecoverer, WorkSaver } from './save-work-child.ts'
import type { RefreshOutcome } from './workspace.ts'

/** What exists once the boot has come so far; null before. */
export interface ControlParts {
  access: Access | null
  conversation: Conversation | null
  sessionEnv: SessionEnv | null
  refresh: (() => Promise<RefreshOutcome>) | null
  /** Null where no session can claim this sandbox: it has one. */
  warm: WarmSandbox | null
  work: WorkSaver | null
  recover: WorkRecoverer | null
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
  const isKnown = name === 'wip' || (Object.hasOwn(actions, name) && action !== undefined)
  // Before the question whether the route exists: a stranger learns nothing here.
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.control(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (!isKnown) {
    throw new ControlError(404, 'not_found', `The daemon has no route /svc/${name.slice(0, 100)}.`)
  }
  if (head.method !== 'POST') throw wrongMethod('POST')
  const body = await readJson(req)
  if (name === 'wip') {
    if (parts.work === null) throw runtimeBooting()
    await parts.work.answer(body, res)
  } else sendJson(res, 200, await action(body, parts))
}

const actions = {
  async prompt(body: Record<string, unknown>, parts: ControlParts): Promise<PromptReply> {
    const { text, prompt_id: promptId } = body
    if (typeof text !== 'string' || text.trim() === '') throw invalid('"text" must be a text that is not empty.')
    if (Buffer.byteLength(text) > textBytesMax) throw invalid('"text" is larger than 512 KiB.')
    if (promptId !== undefined && (typeof promptId !== 'string' || promptId === '' || promptId.length > 200)) {
      throw invalid('"prompt_id" must be a text of 1 to 200 characters.')
    }
    if (parts.conversation === null || parts.warm !== null) throw runtimeBooting()
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

  async recover(_: Record<string, unknown>, parts: ControlParts): Promise<{ ok: true; files: number }> {
    if (parts.recover === null) throw runtimeBooting()
    return parts.recover.recover()
  },

  async env(body: Record<string, unknown>, parts: ControlParts): Promise<EnvReply> {
    const { revision, env } = body
    if (typeof revision !== 'string' || revision.length > 200) throw invalid('"revision" must be a text.')
    if (typeof env !== 'object' || env === null || Array.isArray(env)) throw invalid('"env" must be an object.')
    if (parts.sessionEnv === null) throw runtimeBooting()
    return { ok: true, changed: parts.sessionEnv.replace(revision, env as Record<string, string>) }
  },

  async follow(body: Record<string, unknown>, parts: ControlParts): Promise<FollowReply> {
    const { commit, credential } = body
    if (typeof commit !== 'string' || !commitId.test(commit)) throw invalid('"commit" must be a commit id.')
    if (typeof credential !== 'string' || !/^[A-Za-z0-9_]{1,200}$/.test(credential))
      throw invalid('"credential" must be a git credential.')
    await requireWarm(parts).follow(commit, credential)
    return { ok: true, commit }
  },

  async claim(body: Record<string, unknown>, parts: ControlParts): Promise<ClaimReply> {
    const { commit, env } = body
    if (typeof commit !== 'string' || !commitId.test(commit)) throw invalid('"commit" must be a commit id.')
    if (typeof env !== 'object' || env === null || Object.values(env).some((value) => typeof value !== 'string'))
      throw invalid('"env" must be an object of texts.')
    const claimed = requireWarm(parts)
    const runtimeSessionId = await claimed.claim(env as Record<string, string>, commit)
    return { ok: true, runtime_session_id: runtimeSessionId }
  },
}

const commitId = /^[0-9a-f]{40}([0-9a-f]{24})?$/

function requireWarm(parts: ControlParts): WarmSandbox {
  if (parts.warm === null) throw new ControlError(409, 'conflict', 'This sandbox has a session already.')
  return parts.warm
}

const invalid = (message: string) => new ControlError(400, 'invalid', message)

const wrongMethod = (allowed: string) =>
  new ControlError(405, 'invalid', `This route takes ${allowed}.`, { headers: { allow: allowed } })
