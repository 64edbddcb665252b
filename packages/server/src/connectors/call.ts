/** One call of a connector's tool by an agent: limits, the people's say, the credential, the answer without it, and an audit row. */
import { type ConnectorCall, connectorCallsPerMinuteMax, type ConnectorPolicy } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller, type ProjectActor, type UserActor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { AnswerTooLarge } from '../egress/guarded-fetch.ts'
import { AddressRefused } from '../egress/web-address.ts'
import type { ProjectRow } from '../projects/store.ts'
import { redactorFor } from '../secrets/redactor-for.ts'
import { type Answer, cutAnswer, said } from './answer.ts'
import { askPermission } from './approvals.ts'
import { type Credential, credentialOf } from './credential.ts'
import { httpToolName, isReading, readHttpCall, sendHttpCall } from './http-tool.ts'
import { policyOf } from './policy.ts'
import { inTexts, type Redactor } from './redact.ts'
import { callRemoteTool } from './remote.ts'
import { type ConnectorRow, decisionsOf, getConnector } from './store.ts'

export type CallDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'>

export interface ToolCall {
  project: ProjectRow
  caller: Caller<UserActor | ProjectActor>
  slug: string
  tool: string
  arguments: Record<string, unknown>
  signal: AbortSignal
  /** Called now and then by a server that says it is still at work. */
  onProgress(): void
}

type Outcome = ConnectorCall['outcome']
type Done = { outcome: Outcome; answer: Answer }

export async function callConnectorTool(deps: CallDeps, call: ToolCall): Promise<Answer> {
  const refusal = refuseTooMany(deps, call.caller)
  if (refusal !== null) return said(refusal, true)
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
      `There is no tool ${call.tool} of a connector ${slug} any more. list_connectors says what there is.`,
    )
  const isHttp = connector.definition.type === 'http'
  if (isHttp) {
    const wrong = readHttpCall(connector.definition.url, call.arguments)
    if (typeof wrong === 'string') return refused('refused', wrong)
  }
  const credential = await credentialOf(deps, project, connector.definition)
  if (credential.kind === 'missing')
    return refused('failed', `${credential.error} A person can change that: ${credential.hint}`)
  const reads = isHttp && tool.name === httpToolName ? isReading(call.arguments) : tool.read_only
  const decisions = await decisionsOf(deps.db, project.project_id)
  const stop = await unlessAllowed(deps, call, {
    connector,
    policy: policyOf(decisions, connector, { name: tool.name, read_only: reads }),
  })
  return stop ?? send(deps, call, connector, credential)
}

/** What stands in the way of a call, if anything does. */
async function unlessAllowed(
  deps: CallDeps,
  call: ToolCall,
  { connector, policy }: { connector: ConnectorRow; policy: ConnectorPolicy },
): Promise<Done | null> {
  if (policy === 'allow') return null
  const name = `${connector.slug}/${call.tool}`
  if (policy === 'block') return refused('blocked', `The people of this project have blocked ${name}. Do without it.`)
  // The agent wrote them and can read the question: they meet no value that its session was not given.
  const redactor = await redactorFor(deps, call.project, call.caller)
  const shown = inTexts(call.arguments, (text) => redactor.text(text))
  const permission = await askPermission(deps, { ...call, connector, shown })
  switch (permission.kind) {
    case 'given':
      return null
    case 'denied':
      return refused(
        'denied',
        `A person has denied this call of ${name}. Do without it, or ask them what they want instead.`,
      )
    case 'too-many':
      return refused('unanswered', 'Too many of your calls wait for a person already. Go on with something else.')
    case 'unanswered':
      return refused(
        'unanswered',
        `Nobody has approved this call of ${name} yet, so it was not made. Go on with something else. The question stays open for a while: make the same call again later, with the same arguments, and it goes through once a person has approved it.`,
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
      'a connector did not answer',
    )
    return refused('failed', `The connector ${connector.slug} did not answer: ${why}`)
  }
}

function sendHttp(base: string, call: ToolCall, options: { headers: Record<string, string>; allowPrivate: boolean }) {
  const request = readHttpCall(base, call.arguments)
  return typeof request === 'string' ? said(request, true) : sendHttpCall(request, { ...options, signal: call.signal })
}

const refused = (outcome: Outcome, text: string): Done => ({ outcome, answer: said(text, true) })

/** A sentence an agent and a person can read. What a foreign server wrote is cut, after the credential was taken out of all of it. */
export function reasonOf(error: unknown, redact: Redactor): string {
  if (error instanceof AddressRefused || error instanceof AnswerTooLarge) return redact.text(error.message)
  const { message = '', name = '', code } = error as { message?: string; name?: string; code?: unknown }
  if (code === 401 || code === 403 || name === 'UnauthorizedError') return 'it refused the credential.'
  if (name === 'TimeoutError') return 'it took too long.'
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused') return 'nothing listens at its address.'
  // Nothing in it that a database refuses or a terminal obeys.
  const text = redact
    .text(message || String(error))
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, 300)
    .toWellFormed()
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Each session has connections of its own. */
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

/** Counted by each server for itself: it keeps a loop from flooding, and need not be exact. */
function refuseTooMany(deps: Pick<Deps, 'now'>, caller: Caller): string | null {
  if (runningOf(caller).now >= atOnceMax) return `More than ${atOnceMax} calls at once. Wait for one to end.`
  const now = deps.now().getTime()
  const key = keyOf(caller)
  const found = windows.get(key)
  const window = found === undefined || now - found.began >= 60_000 ? { began: now, calls: 0 } : found
  windows.set(key, window)
  window.calls += 1
  if (window.calls <= connectorCallsPerMinuteMax) return null
  return `More than ${connectorCallsPerMinuteMax} calls of connectors within a minute. Wait ${Math.ceil((window.began + 60_000 - now) / 1000)} s.`
}

/** Names and outcome; a value could be a secret. */
async function recordCall(deps: CallDeps, call: ToolCall, outcome: Outcome, ms: number): Promise<void> {
  const { project } = call
  const names = Object.keys(call.arguments)
    .slice(0, 20)
    .map((name) => name.replaceAll(/[^\w.-]/g, '?').slice(0, 40))
  await recordAudit(deps.db, call.caller, {
    account_id: project.account_id,
    project_id: project.project_id,
    action: 'connector.call',
    object_type: 'connector_tool',
    object_id: `${call.slug}/${call.tool}`,
    after: { outcome, ms, arguments: names },
  })
}
