import { count } from '@svc/contract/count'
import type { Session, UnfinishedWork } from '@svc/sdk'
import { cyan, dim, green, type Output, type Piece, red, yellow } from '../../terminal/output.ts'

export function statusPiece(status: Session['status']): Piece {
  if (status === 'running') return green(status)
  if (status === 'failed') return red(status)
  return status === 'stopped' || status === 'completed' ? dim(status) : cyan(status)
}

export function sessionPiece(session: Session): Piece {
  return session.waiting_for === 'person' ? yellow('waiting for you') : statusPiece(session.status)
}

/** For a person, an idle session whose agent sleeps is not simply running. Programs read the status. */
export function shownPiece(session: Session, terminal: boolean): Piece {
  const isAsleep = terminal && session.asleep_since != null && session.waiting_for === null
  return isAsleep ? dim('asleep') : sessionPiece(session)
}

/** Eight characters identify a session to a user; programs get the whole id. */
export function shortId(id: string, terminal: boolean): string {
  return terminal ? id.slice(0, 8) : id
}

export function isStarting(session: Session): boolean {
  return session.status === 'provisioning' || session.status === 'queued' || session.status === 'branching'
}

export const sessionArg = { summary: 'Id of the session, its first characters, or its name', names: 'session' } as const

/** Saved work that the repository of the project does not have any more. A server of an earlier version names none. */
export function noteLostWork(out: Output, { lost = [] }: Pick<UnfinishedWork, 'lost'>): void {
  for (const work of lost)
    out.warn(
      `The work saved ${out.time(work.saved_at)} is lost (${unfinishedLabel(work)}): the repository of the project does not have it.`,
    )
}

/** "3 files", "2 commits", "3 files and 2 commits". */
export function unfinishedLabel(work: { files: number; unpushed_commits: number }): string {
  const parts = [
    work.files > 0 ? count(work.files, 'file') : null,
    work.unpushed_commits > 0 ? count(work.unpushed_commits, 'commit') : null,
  ]
  return parts.filter((part) => part !== null).join(' and ') || 'work'
}
