import { useQuery } from '@tanstack/react-query'
import { summariesOfBranch } from '../pages/change-requests/queries.ts'
import type { Session } from '../pages/sessions/queries.ts'
import { Badge, type Tone } from '../ui/text.tsx'

const tones: Record<string, Tone> = {
  ...{ running: 'good', 'waiting for you': 'warn', 'ready for review': 'merged' },
  ...{ provisioning: 'accent', failed: 'bad' },
}

/** On a page of the session. */
export function SessionStatusNow({ session, isBusy }: Pick<Status, 'session' | 'isBusy'>) {
  const { data } = useQuery(summariesOfBranch(session.project_id, session.branch_name))
  const isProposed = data?.change_requests.some(({ status }) => status === 'open') ?? false
  return <SessionStatus session={session} isProposed={isProposed} isBusy={isBusy} />
}

interface Status {
  session: Session
  /** For a page that knows it earlier than the session does. */
  isBusy?: boolean | undefined
  /** An open change request proposes its work. */
  isProposed: boolean
}

/** The status of a session as the user's next step: wait, reply, review its change request, or see why it failed. */
export function SessionStatus({ session, isBusy = session.is_busy, isProposed }: Status) {
  const word = session.waiting_for === 'person' ? 'waiting for you' : wordOf(session, { isBusy, isProposed })
  return <Badge tone={tones[word] ?? 'neutral'}>{word}</Badge>
}

function wordOf(
  { status, asleep_since: asleepSince }: Session,
  { isBusy, isProposed }: { isBusy: boolean | undefined; isProposed: boolean },
): string {
  if (status === 'running' && isBusy !== false) return 'running'
  if (isProposed && (status === 'running' || status === 'stopped')) return 'ready for review'
  if (status !== 'running') return status
  return asleepSince == null ? 'waiting' : 'asleep'
}
