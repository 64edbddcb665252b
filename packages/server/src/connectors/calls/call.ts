/** Runs one connector call of an agent: limits, policy, credential, redaction and audit. */
import { type ConnectorCall, connectorCallsPerMinuteMax, type ConnectorPolicy } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller, type ProjectActor, type UserActor } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { AnswerTooLarge } from '../../egress/guarded-fetch.ts'
import { AddressRefused } from '../../egress/web-address.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { redactorFor } from '../../secrets/redactor-for.ts'
import { type Answer, cutAnswer, textAnswer } from '../remote/answer.ts'
import { requestApproval } from './approvals.ts'
import { type Credential, credentialOf } from '../remote/credential.ts'
import { httpToolName, isReadOnlyRequest, readHttpCall, sendHttpCall } from '../remote/http-tool.ts'
import { policyOf } from '../tools/policy.ts'
import { inTexts, type Redactor } from '../remote/redact.ts'
import { callRemoteTool } from '../remote/mcp.ts'
import { type ConnectorRow, decisionsOf, getConnector } from '../store.ts'

export type CallDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'>

export interface ToolCall {
  project: ProjectRow
  caller: Caller<UserActor | ProjectActor>
  slug: string
  tool: string
  arguments: Record<string, unknown>
  signal: AbortSignal
  /** Called for each progress notification of the server. */
  onProgress(): void
}

type Outcome = ConnectorCall['outcome']
type Done = { outcome: Outcome; answer: Answer }

export async function callConnectorTool(deps: CallDeps, call: ToolCall): Promise<Answer> {
  const refusal = rateLimitRefusal(deps, call.caller)
  if (refusal !== null) return textAnswer(refusal, true)
  const began = performance.now()
  const running = runningOf(call.caller)
  running.now += 1
  let outcome: Outcome = 'failed'
  try {
    const done = await perform(deps, call)
    outcome = done.outcome
    return done.answer
  } finally {
    running.now -= 1
    await recordCall(deps, call, outcome, Math.round(performance.now() - began))
  }
}

async function perform(deps: CallDeps, call: ToolCall): Promise<Done> {
  const { project, slug } = call
  const connector =
    deps.config.connectorProvider === 'none' ? null : await getConnector(deps.db, project.project_id, slug)
  const tool = connector?.tools.find(({ name }) => name === call.tool)
  if (connector === null || tool === undefined)
    return refused(
      'refused',
      `The connector ${slug} has no tool ${call.tool}. Call list_connectors to see the available ones.`,
    )
  const isHttp = connector.definition.type === 'http'
  if (isHttp) {
    const wrong = readHttpCall(connector.definition.url, call.arguments)
    if (typeof wrong === 'string') return refused('refused', wrong)
  }
  const credential = await credentialOf(deps, project, connector.definition)
  if (credential.kind === 'missing')
    return refused('failed', `${credential.error} A user can fix that: ${credential.hint}`)
  const reads = isHttp && tool.name === httpToolName ? isReadOnlyRequest(call.arguments) : tool.read_only
  const decisions = await decisionsOf(deps.db, project.project_id)
  const stop = await checkPolicy(deps, call, {
    connector,
    policy: policyOf(decisions, connector, { name: tool.name, read_only: reads }),
  })
  return stop ?? send(deps, call, connector, credential)
}

/** Null when the call may proceed. */
async function checkPolicy(
  deps: CallDeps,
  call: ToolCall,
  { connector, policy }: { connector: ConnectorRow; policy: ConnectorPolicy },
): Promise<Done | null> {
  if (policy === 'allow') return null
  const name = `${connector.slug}/${call.tool}`
  if (policy === 'block') return refused('blocked', `The users of this project blocked ${name}. Continue without it.`)
  // The agent wrote the arguments and can read the question, so redact values that its session was not given.
  const redactor = await redactorFor(deps, call.project, call.caller)
  const shown = inTexts(call.arguments, (text) => redactor.text(text))
  const permission = await requestApproval(deps, { ...call, connector, shown })
  switch (permission) {
    case 'given':
      return null
    case 'denied':
      return refused(
        'denied',
        `A user denied this call of ${name}. Continue without it, or ask them for an alternative.`,
      )
    case 'too-many':
      return refused(
        'unanswered',
        'Too many of your calls are already waiting for approval. Continue with something else.',
      )
    case 'unanswered':
      return refused(
        'unanswered',
        `This call of ${name} was not made, because no user approved it yet. Continue with something else. The question stays open for a while: repeat the call later with the same arguments, and it succeeds once a user approved it.`,
      )
    default:
      return permission satisfies never
  }
}

type Ready = Credential & { kind: 'ready' }

async function send(deps: CallDeps, call: ToolCall, connector: ConnectorRow, credential: Ready): Promise<Done> {
  const { definition } = connector
  const { headers, redact } = credential
  const allowPrivate = deps.config.allowPrivateGitHosts
  try {
    const answer =
      definition.type === 'http'
        ? await sendHttp(definition.url, call, { headers, allowPrivate })
        : await callRemoteTool(
            { url: definition.url, headers, allowPrivate, redact },
            { ...call, owner: ownerOf(call) },
          )
    return { outcome: answer.isError ? 'tool_error' : 'ok', answer: cutAnswer(redact.value(answer)) }
  } catch (error) {
    const why = reasonOf(error, redact)
    deps.log.info(
      { project_id: call.project.project_id, connector: connector.slug, reason: why },
      'connector call failed',
    )
    return refused('failed', `The call of the connector ${connector.slug} failed: ${why}`)
  }
}

function sendHttp(base: string, call: ToolCall, options: { headers: Record<string, string>; allowPrivate: boolean }) {
  const request = readHttpCall(base, call.arguments)
  return typeof request === 'string'
    ? textAnswer(request, true)
    : sendHttpCall(request, { ...options, signal: call.signal })
}

const refused = (outcome: Outcome, text: string): Done => ({ outcome, answer: textAnswer(text, true) })

/** A reason for agents and users. Text of a foreign server is redacted first, then truncated. */
export function reasonOf(error: unknown, redact: Redactor): string {
  if (error instanceof AddressRefused || error instanceof AnswerTooLarge) return redact.text(error.message)
  const { message = '', name = '', code } = error as { message?: string; name?: string; code?: unknown }
  if (code === 401 || code === 403 || name === 'UnauthorizedError') return 'it rejected the credential.'
  if (name === 'TimeoutError') return 'it took too long.'
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused') return 'nothing listens at its URL.'
  // Remove characters that a database rejects or a terminal interprets.
  const text = redact
    .text(message || String(error))
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, 300)
    .toWellFormed()
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Sessions never share connections. */
function ownerOf({ project, caller }: ToolCall): string {
  return `${project.project_id} ${boundSession(caller.actor) ?? caller.actor.user_id}`
}

const atOnceMax = 8
const windows = new LRUCache<string, { began: number; calls: number }>({ max: 10_000 })
const runs = new LRUCache<string, { now: number }>({ max: 10_000 })

const keyOf = ({ actor }: Caller) => boundSession(actor) ?? actor.user_id

function runningOf(caller: Caller): { now: number } {
  const key = keyOf(caller)
  const found = runs.get(key) ?? { now: 0 }
  runs.set(key, found)
  return found
}

/** Each server counts alone: the limit stops a loop and need not be exact. */
function rateLimitRefusal(deps: Pick<Deps, 'now'>, caller: Caller): string | null {
  if (runningOf(caller).now >= atOnceMax) return `More than ${atOnceMax} calls at once. Wait until one finishes.`
  const now = deps.now().getTime()
  const key = keyOf(caller)
  const found = windows.get(key)
  const window = found === undefined || now - found.began >= 60_000 ? { began: now, calls: 0 } : found
  windows.set(key, window)
  window.calls += 1
  if (window.calls <= connectorCallsPerMinuteMax) return null
  return `More than ${connectorCallsPerMinuteMax} connector calls within one minute. Wait ${Math.ceil((window.began + 60_000 - now) / 1000)} s.`
}

/** Records argument names only, because a value may be a secret. */
async function recordCall(deps: CallDeps, call: ToolCall, outcome: Outcome, ms: number): Promise<void> {
  const { project } = call
  const names = Object.keys(call.arguments)
    .slice(0, 20)
    .map((name) => name.replaceAll(/[^\w.-]/g, '?').slice(0, 40))
  await recordAudit(deps.db, call.caller, {
    ...auditEvent(project, 'connector.call', 'connector_tool', `${call.slug}/${call.tool}`),
    after: { outcome, ms, arguments: names },
  })
}
