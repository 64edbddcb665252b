import { useQuery } from '@tanstack/react-query'
import { Failure, useSend } from '../../components/requests.tsx'
import { pathOf, type Session, unfinishedWork } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { Command } from '../../ui/text.tsx'
import { Notice } from '../../ui/layout.tsx'

/** Saved work that was not pushed. A running session that was not restarted still has it in its work tree. */
export function UnfinishedWork({ session }: { session: Session }) {
  const found = useQuery(unfinishedWork(session))
  const recover = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/wip/recover', {
    path: pathOf(session),
    refetch: [['project', session.project_id, 'sessions']],
  })
  const saved = found.data
  if (saved === undefined || saved.saved_at === null) return null
  const isOfEarlierStart = saved.generation !== session.sandbox?.generation
  if (session.status === 'running' && !isOfEarlierStart) return null
  return (
    <Notice
      tone="warn"
      title={`Unfinished work saved: ${saved.files} ${saved.files === 1 ? 'file' : 'files'}`}
      action={session.status === 'running' && <Button action={recover}>Restore work</Button>}
    >
      <p className="mb-2">
        Saved {new Date(saved.saved_at).toLocaleString()}, but not on any branch. To get it into your clone, run:
      </p>
      <Command>{`svc sessions recover ${session.session_id}`}</Command>
      {recover.isError && <Failure error={recover.error} />}
    </Notice>
  )
}
