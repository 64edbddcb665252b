import { useQuery } from '@tanstack/react-query'
import { type ChangeRequest, changeRequests } from '../pages/change-requests/queries.ts'
import type { Session } from '../pages/sessions/queries.ts'
import { Badge, type Tone } from '../ui/text.tsx'

/** The change request that proposes the work of the session, of the open ones. */
export function proposalOf({ session_id: id, branch_name: branch }: Session, open: readonly ChangeRequest[]) {
  return open.find(({ origin_session_id, head_ref }) => origin_session_id === id || head_ref === branch)
}

const tones: Record<string, Tone> = {
  ...{ running: 'good', 'waiting for you': 'warn', 'ready for review': 'merged' },
  ...{ provisioning: 'accent', failed: 'bad' },
}

/** The status of a session as the user's next step: wait, reply, review its change request, or see why it failed. */
export function SessionStatus({
  session,
  isBusy = session.is_busy,
}: {
  session: Session
  /** For a page that knows it earlier than the session does. Undefined while it loads. */
  isBusy?: boolean | undefined
}) {
  // Every page takes the list's own answer, so that a session has one state.
  const { data: open = [] } = useQuery(changeRequests(session.project_id, 'open'))
  const word =
    session.waiting_for === 'person'
      ? 'waiting for you'
      : wordOf(session, { isBusy, isProposed: proposalOf(session, open) !== undefined })
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
