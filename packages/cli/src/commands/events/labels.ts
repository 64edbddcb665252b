import type { ProjectEvent } from '@svc/sdk'
import { cyan, dim, green, red, type Styled, yellow } from '../../terminal/output.ts'

const colours: Record<string, (text: string) => Styled> = {
  ...{ merged: green, live: green, clean: green, running: green },
  ...{ failed: red, conflicted: red, missed: red },
  ...{ opened: cyan, moved: cyan, fired: cyan },
  ...{ provisioning: yellow, started: yellow },
}

export function typeOf({ type }: ProjectEvent): Styled {
  return (colours[type.split('.')[1] ?? ''] ?? dim)(type)
}

export function who({ actor }: ProjectEvent): string {
  if (actor === null) return 'svc'
  return actor.session_id === null ? `user ${actor.user_id.slice(0, 8)}` : `session ${actor.session_id.slice(0, 8)}`
}

export function what(event: ProjectEvent): string {
  return parts(event)
    .filter((part) => part !== null && part !== undefined && part !== '')
    .join(', ')
}

function parts(event: ProjectEvent): (string | null | undefined)[] {
  switch (event.type) {
    case 'trigger.fired':
    case 'trigger.missed': {
      const { slug, session_id: session, reason } = event.data
      return [slug, session && `session ${session.slice(0, 8)}`, reason]
    }
    case 'deploy.started':
    case 'deploy.live':
    case 'deploy.failed':
    case 'deploy.stopped': {
      const { app, commit_sha: commit, url, reason } = event.data
      return [app, commit?.slice(0, 12), event.type === 'deploy.live' ? url : null, reason]
    }
    case 'check.started':
    case 'check.finished': {
      const { number, check, status, reason } = event.data
      return [`#${number} ${check}`, status, reason]
    }
    case 'default_branch.moved': {
      const { branch, before, sha } = event.data
      return [`${branch} ${before?.slice(0, 12) ?? 'none'}..${sha?.slice(0, 12) ?? 'none'}`]
    }
    case 'session.provisioning':
    case 'session.running':
    case 'session.turn_ended':
    case 'session.stopped':
    case 'session.failed':
    case 'session.deleted': {
      const { session_id: session, name, reason } = event.data
      return [`${session.slice(0, 8)} ${name}`, reason]
    }
    case 'session.refreshed': {
      const { session_id: session, name, refresh, reason } = event.data
      return [`${session.slice(0, 8)} ${name}`, refresh?.applied.join(', '), reason]
    }
    case 'session.question_asked':
    case 'session.question_answered': {
      const { session_id: session, question, reason } = event.data
      return [`${session.slice(0, 8)} ${question?.title ?? ''}`, question?.status, reason]
    }
    default:
      return ofChangeRequest(event)
  }
}

type OfChangeRequest = Extract<ProjectEvent, { data: { head_ref: string } }>

function ofChangeRequest({ data }: OfChangeRequest): (string | null | undefined)[] {
  // A newer server may send event types this client does not know.
  if (data.number === undefined) return []
  const { number, title, changed, conflicts, review } = data
  return [
    `#${number} ${title}`,
    changed && `new: ${changed.join(' ')}`,
    conflicts && `conflicts: ${conflicts.join(' ')}`,
    review && `${review.comments} comments`,
  ]
}
