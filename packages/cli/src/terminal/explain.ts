/** Prints errors for people and programs: what happened, what to do, which command to run. */
import { count } from '@svc/contract/count'
import { ServiceError } from '@svc/contract/errors'
import { Guided, Refusal, UsageError } from '../errors.ts'
import type { Io } from '../io.ts'
import { dim, type Output, red } from './output.ts'
import { safeJson } from './safe.ts'

interface Problem {
  error: string
  code: string
  hint: string | null
  next: readonly string[]
  detail: Record<string, unknown>
  lines: readonly string[]
}

export function explain(error: unknown, io: Pick<Io, 'env' | 'signal'>): Problem {
  if (error instanceof UsageError) return problem(error.message, 'usage', error, {}, error.lines)
  if (error instanceof Refusal) return problem(error.message, error.code, error, error.detail, error.lines)
  if (error instanceof ServiceError) return explainService(error, {})
  if (error instanceof Guided) return explainService(error.refusal, error)
  if (io.signal.aborted) return problem('Interrupted', 'cancelled', {})
  const message = error instanceof Error ? error.message : String(error)
  return problem(io.env.SVC_DEBUG && error instanceof Error ? (error.stack ?? message) : message, 'internal', {
    hint: io.env.SVC_DEBUG ? null : 'SVC_DEBUG=1 prints the stack trace.',
  })
}

/** Prints to stderr: one JSON document with `--json`, otherwise a sentence, its details and what to do. */
export function report(io: Pick<Io, 'stderr'>, out: Output, found: Problem): void {
  if (out.json) {
    const { error, code, hint, next, detail } = found
    io.stderr.write(`${safeJson({ ...detail, error, code, hint, next })}\n`)
    return
  }
  out.progress(red('error: '), found.error)
  for (const line of found.lines) out.progress(`  ${line}`)
  if (found.hint !== null) out.progress(found.hint)
  for (const command of found.next) out.progress(dim('  $ '), command)
}

function problem(
  error: string,
  code: string,
  guidance: { hint?: string | null; next?: readonly string[] },
  detail: Record<string, unknown> = {},
  lines: readonly string[] = [],
): Problem {
  return { error, code, hint: guidance.hint ?? null, next: guidance.next ?? [], detail, lines }
}

function explainService(error: ServiceError, added: Partial<Pick<Guided, 'hint' | 'next' | 'lines'>>): Problem {
  const known = adviceFor(error)
  const hint = added.hint ?? known.hint ?? error.hint
  // Only a person helps, so a time for the next try would mislead.
  const again = error.detail.waiting_for === 'operator' ? undefined : error.detail.retry_after
  const isTimed = typeof again === 'string' && hint?.includes(soon) === true
  const lines = [...factLines(error), ...(typeof again === 'string' && !isTimed ? [`try again in ${again} s`] : [])]
  return problem(
    error.message,
    error.code,
    { hint: isTimed ? hint.replace(soon, `Try again in ${again} s`) : hint, next: added.next ?? known.next ?? [] },
    error.detail,
    [...lines.slice(0, linesMax), ...(added.lines ?? [])],
  )
}

/** In hints, the same as the time of the next try. */
const soon = 'Try again in a moment'
const linesMax = 50

/** Prefers the client's own hints over the service's. */
function adviceFor(error: ServiceError): { hint?: string | null; next?: readonly string[] } {
  switch (error.code) {
    case 'unauthenticated':
      return {
        hint: 'The token is unknown, expired or revoked. Sign in again.',
        next: ['svc login', 'svc whoami'],
      }
    case 'agent_merge_forbidden':
      return { hint: 'Only a user can merge: give them the number.', next: ['svc cr ls'] }
    case 'concurrent_session_limit':
      return {
        hint: "Stop one that you don't need, then try again.",
        next: ['svc sessions ls --status running', 'svc sessions stop <id>'],
      }
    case 'work_not_saved':
      return {
        hint: 'Push the work, or try again once it can be saved. With --discard the session ends, and the work is lost.',
      }
    case 'agent_not_found':
      return { hint: 'Agents are files on the default branch: .svc/runtime/agents/<agent>.md.' }
    case 'no_model':
      return { hint: error.hint, next: ['svc models set --help'] }
    case 'model_not_found':
      return { hint: error.hint, next: ['svc models ls'] }
    case 'repository_refused':
      // The address itself was refused, so no credential helps.
      if (error.detail.issues !== undefined) return { hint: error.hint }
      return {
        hint: error.hint ?? 'Use a credential with write access.',
        next: ['svc projects create --repo <url> --git-token -'],
      }
    case 'unavailable':
      return { hint: error.hint ?? 'The server is up, but a dependency is unavailable. Try again in a moment.' }
    default:
      return {}
  }
}

function factLines({ code, detail }: ServiceError): string[] {
  const lines: string[] = []
  if (Array.isArray(detail.conflicts)) lines.push(...detail.conflicts.map((file) => `conflict: ${String(file)}`))
  // The sentence already contains a single issue, except for the positions in a manifest.
  if (Array.isArray(detail.issues) && (detail.issues.length > 1 || code === 'manifest_invalid')) {
    for (const issue of detail.issues as { path?: unknown; message?: unknown }[]) {
      const path = Array.isArray(issue.path) ? issue.path.join('.') : String(issue.path ?? '')
      lines.push(path === '' ? String(issue.message) : `${path} ${String(issue.message)}`)
    }
  }
  if (typeof detail.limit === 'number' && typeof detail.active_sessions === 'number')
    lines.push(
      `${detail.active_sessions} of ${count(detail.limit, 'session')} ${detail.active_sessions === 1 ? 'is' : 'are'} active`,
    )
  return lines
}
