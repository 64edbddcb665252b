/** The control routes under /svc, which the server calls. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { attachmentsBodyLimit, isAttachmentBody } from '@svc/contract/schemas/attachments'
import type {
  AttachmentBody,
  ClaimReply,
  DaemonHealth,
  EnvBody,
  EnvReply,
  FollowReply,
  PortsReply,
  PromptReply,
  RefreshReply,
} from '@svc/contract/daemon/control'
import type { ReadFilesReply } from '@svc/contract/daemon/work-tree'

import type { Access, RequestHead } from './access.ts'
import type { Conversation, PromptChoice } from '../runtime/conversation.ts'
import type { Refresh } from '../runtime/refresh.ts'
import { lastLines } from '../child.ts'
import { listeningPorts } from './listening-ports.ts'
import { ControlError, readJson, runtimeBooting, sendJson, unauthenticated } from './reply.ts'
import type { WarmSandbox } from '../runtime/warm.ts'
import type { FileReader } from '../workspace/read-files-child.ts'
import type { WorkRecoverer, WorkSaver } from '../workspace/save-work-child.ts'

/** Each part is null until the boot has created it. */
export interface ControlParts {
  access: Access | null
  conversation: Conversation | null
  /** Replaces the secrets; returns the names of those that changed. */
  setSecrets: ((body: EnvBody) => string[]) | null
  /** Writes an attachment of a prompt. */
  attach: ((body: AttachmentBody) => void) | null
  refresh: Refresh | null
  /** Null once a session has claimed this sandbox. */
  warm: WarmSandbox | null
  work: WorkSaver | null
  recover: WorkRecoverer | null
  files: FileReader | null
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
  // Authenticate before the route lookup, so that strangers cannot probe for routes.
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.control(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (!isKnown) {
    throw new ControlError(404, 'not_found', `The daemon does not have a route /svc/${name.slice(0, 100)}.`)
  }
  if (head.method !== 'POST') throw wrongMethod('POST')
  const body = await readJson(req, name === 'attachment' ? attachmentsBodyLimit.bytesMax : undefined)
  if (name === 'wip') {
    if (parts.work === null) throw runtimeBooting()
    await parts.work(body, res)
  } else sendJson(res, 200, await action(body, parts).catch(withReason))
}

/** The server, which has proved who it is, gets the reason. */
function withReason(error: unknown): never {
  if (error instanceof ControlError || !(error instanceof Error)) throw error
  throw new ControlError(500, 'internal', `The daemon could not do it: ${lastLines(error.message)}`, { cause: error })
}

const actions = {
  async prompt(body: Record<string, unknown>, parts: ControlParts): Promise<PromptReply> {
    const { text, prompt_id: promptId, note } = body
    if (typeof text !== 'string' || text.trim() === '') throw invalid('"text" must be a non-empty string.')
    if (Buffer.byteLength(text) > textBytesMax) throw invalid('"text" is larger than 512 KiB.')
    if (promptId !== undefined && (typeof promptId !== 'string' || promptId === '' || promptId.length > 200)) {
      throw invalid('"prompt_id" must be a string of 1 to 200 characters.')
    }
    if (
      note !== undefined &&
      (typeof note !== 'string' || note.trim() === '' || Buffer.byteLength(note) > textBytesMax)
    )
      throw invalid('"note" must be a non-empty string of at most 512 KiB.')
    const choice = choiceIn(body)
    if (parts.conversation === null || parts.warm !== null) throw runtimeBooting()
    const taken = await parts.conversation.prompt(text, promptId ?? null, note ?? null, choice)
    return {
      ok: true,
      runtime_session_id: taken.sessionId,
      runtime_starts: taken.starts,
      was_taken: taken.wasTaken,
    }
  },

  async attachment(body: Record<string, unknown>, parts: ControlParts): Promise<{ ok: true }> {
    if (!isAttachmentBody(body)) throw invalid('An attachment needs a UUID, a file name, and its content in base64.')
    if (parts.attach === null || parts.warm !== null) throw runtimeBooting()
    parts.attach(body)
    return { ok: true }
  },

  async abort(_: Record<string, unknown>, parts: ControlParts): Promise<{ ok: true }> {
    if (parts.conversation === null) throw runtimeBooting()
    await parts.conversation.abort()
    return { ok: true }
  },

  async refresh(body: Record<string, unknown>, parts: ControlParts): Promise<RefreshReply> {
    const { config_dir: configDir } = body
    if (configDir !== undefined && (typeof configDir !== 'string' || configDir === ''))
      throw invalid('"config_dir" must be a folder in the repository.')
    if (parts.refresh === null) throw runtimeBooting()
    const outcome = await parts.refresh(configDir === undefined ? {} : { config_dir: configDir })
    switch (outcome.kind) {
      case 'updated':
        return { ok: true, before: outcome.before, after: outcome.after }
      case 'not-fast-forward':
        throw new ControlError(409, 'not_fast_forward', `The session branch was not pulled: ${outcome.reason}`, {
          hint: 'The configuration was applied and the work tree is unchanged. In the session, commit or discard the conflicting changes, push, then refresh again.',
        })
      case 'failed':
        throw new ControlError(502, 'refresh_failed', `The refresh failed: ${outcome.reason}`)
      default:
        return outcome satisfies never
    }
  },

  async recover(_: Record<string, unknown>, parts: ControlParts): Promise<{ ok: true; files: number }> {
    if (parts.recover === null) throw runtimeBooting()
    return parts.recover()
  },

  async files(body: Record<string, unknown>, parts: ControlParts): Promise<ReadFilesReply> {
    if (parts.files === null) throw runtimeBooting()
    return parts.files(body)
  },

  ports: (): Promise<PortsReply> => listeningPorts(),

  async env(body: Record<string, unknown>, parts: ControlParts): Promise<EnvReply> {
    const { revision, env, names } = body
    if (typeof revision !== 'string' || revision.length > 200) throw invalid('"revision" must be a string.')
    if (typeof env !== 'object' || env === null || Array.isArray(env)) throw invalid('"env" must be an object.')
    const isList = Array.isArray(names) && names.every((name) => typeof name === 'string' && namePattern.test(name))
    if (names !== undefined && !isList) throw invalid('"names" must be a list of environment variable names.')
    if (parts.setSecrets === null) throw runtimeBooting()
    const set = { revision, env: env as Record<string, string>, ...(isList ? { names: names as string[] } : {}) }
    return { ok: true, changed: parts.setSecrets(set) }
  },

  async follow(body: Record<string, unknown>, parts: ControlParts): Promise<FollowReply> {
    const commit = commitIn(body)
    const { credential } = body
    if (typeof credential !== 'string' || !/^[A-Za-z0-9_]{1,200}$/.test(credential))
      throw invalid('"credential" must be a git credential.')
    await requireWarm(parts).follow(commit, credential)
    return { ok: true, commit }
  },

  async claim(body: Record<string, unknown>, parts: ControlParts): Promise<ClaimReply> {
    const commit = commitIn(body)
    const { env } = body
    if (typeof env !== 'object' || env === null || Object.values(env).some((value) => typeof value !== 'string'))
      throw invalid('"env" must be an object of strings.')
    const claimed = requireWarm(parts)
    const runtimeSessionId = await claimed.claim(env as Record<string, string>, commit)
    return { ok: true, runtime_session_id: runtimeSessionId }
  },
}

function choiceIn({ agent, model }: Record<string, unknown>): PromptChoice {
  for (const [name, value] of Object.entries({ agent, model: model ?? undefined }))
    if (value !== undefined && (typeof value !== 'string' || value === '' || value.length > 200))
      throw invalid(`"${name}" must be a string of 1 to 200 characters.`)
  return {
    ...(agent === undefined ? {} : { agent: agent as string }),
    ...(model === undefined ? {} : { model: model as string | null }),
  }
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/

function commitIn({ commit }: Record<string, unknown>): string {
  if (typeof commit === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)) return commit
  throw invalid('"commit" must be a commit id.')
}

function requireWarm(parts: ControlParts): WarmSandbox {
  if (parts.warm === null) throw new ControlError(409, 'conflict', 'This sandbox already has a session.')
  return parts.warm
}

const invalid = (message: string) => new ControlError(400, 'invalid', message)

const wrongMethod = (allowed: string) =>
  new ControlError(405, 'invalid', `This route accepts only ${allowed}.`, { headers: { allow: allowed } })
