/** Errors as a person and a program read them: what happened, what to do, which command comes next. */
import { ServiceError } from '@svc/contract/errors'
import { Guided, Refusal, UsageError } from './errors.ts'
import type { Io } from './io.ts'
import { dim, type Output, red } from './output.ts'
import { safeJson } from './safe.ts'

export interface Problem {
  error: string
  code: string
  hint: string | null
  next: readonly string[]
  detail: Record<string, unknown>
  /** Shown below, one per line. */
  lines: readonly string[]
}

export function explain(error: unknown, io: Pick<Io, 'env' | 'signal'>): Problem {
  if (error instanceof UsageError) return problem(error.message, 'usage', error)
  if (error instanceof Refusal) return problem(error.message, error.code, error, error.detail, error.lines)
  if (error instanceof ServiceError) return explainService(error, {})
  if (error instanceof Guided) return explainService(error.refusal, error)
  if (io.signal.aborted) return problem('Interrupted', 'cancelled', {})
  const message = error instanceof Error ? error.message : String(error)
  return problem(io.env.SVC_DEBUG && error instanceof Error ? (error.stack ?? message) : message, 'internal', {
    hint: io.env.SVC_DEBUG ? null : 'SVC_DEBUG=1 shows where this came from.',
  })
}

/** On stderr: one JSON document with `--json`, else a sentence, its facts and what to do. */
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

function explainService(
  error: ServiceError,
  added: { hint?: string; next?: readonly string[]; lines?: readonly string[] },
): Problem {
  const known = adviceFor(error)
  return problem(
    error.message,
    error.code,
    { hint: added.hint ?? known.hint ?? error.hint, next: added.next ?? known.next ?? [] },
    error.detail,
    [...factLines(error.detail), ...(added.lines ?? [])],
  )
}

/** The client knows its own commands better than the service does. */
function adviceFor(error: ServiceError): { hint?: string; next?: readonly string[] } {
  switch (error.code) {
    case 'unauthenticated':
      return {
        hint: 'The token is unknown, expired or revoked. Sign in again.',
        next: ['svc login', 'svc whoami'],
      }
    case 'agent_merge_forbidden':
      return { hint: 'Merging is the decision of a person: give them the number.', next: ['svc cr ls'] }
    case 'concurrent_session_limit':
      return {
        hint: 'Stop one that is not needed, then try again.',
        next: ['svc sessions ls --status running', 'svc sessions stop <id>'],
      }
    case 'agent_not_found':
      return { hint: 'Agents are files of the default branch: .svc/runtime/agents/<agent>.md.' }
    case 'no_model':
      return { ...(error.hint === null ? {} : { hint: error.hint }), next: ['svc models set --help'] }
    case 'model_not_found':
      return { ...(error.hint === null ? {} : { hint: error.hint }), next: ['svc models ls'] }
    case 'repository_refused':
      // The address itself was refused, so no credential helps.
      if (error.detail.issues !== undefined) return error.hint == null ? {} : { hint: error.hint }
      return {
        hint: error.hint ?? 'Give a credential that may write.',
        next: ['svc projects create --repo <url> --git-token -'],
      }
    case 'unavailable':
      return { hint: error.hint ?? 'The server is up but misses a part. Try again in a moment.' }
    default:
      return {}
  }
}

function factLines(detail: Record<string, unknown>): string[] {
  const lines: string[] = []
  if (Array.isArray(detail.conflicts)) lines.push(...detail.conflicts.map((file) => `conflict: ${String(file)}`))
  if (Array.isArray(detail.issues)) {
    for (const issue of detail.issues as { path?: unknown; message?: unknown }[]) {
      const path = Array.isArray(issue.path) ? issue.path.join('.') : String(issue.path ?? '')
      lines.push(path === '' ? String(issue.message) : `${path} ${String(issue.message)}`)
    }
  }
  if (typeof detail.limit === 'number' && typeof detail.active_sessions === 'number')
    lines.push(`${detail.active_sessions} of ${detail.limit} sessions are active`)
  if (typeof detail.retry_after === 'string') lines.push(`try again in ${detail.retry_after} s`)
  return lines.slice(0, 50)
}
