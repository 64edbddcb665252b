import { useMutation, useQuery } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { Failure } from '../../components/failure.tsx'
import { type Session, unfinishedWork } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Saved work that was not pushed. A running session that was not restarted still has it in its work tree. */
export function UnfinishedWork({ session }: { session: Session }) {
  const found = useQuery(unfinishedWork(session.project_id, session.session_id))
  const recover = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions/{sessionId}/wip/recover', {
          params: { path: { projectId: session.project_id, sessionId: session.session_id } },
        }),
      ),
    onSettled: useInvalidate(['project', session.project_id, 'sessions']),
  })
  const saved = found.data
  if (saved === undefined || saved.saved_at === null) return null
  const isOfEarlierStart = saved.generation !== session.sandbox?.generation
  if (session.status === 'running' && !isOfEarlierStart) return null
  return (
    <Notice
      tone="warn"
      title={`Unfinished work saved: ${saved.files} ${saved.files === 1 ? 'file' : 'files'}`}
      action={
        session.status === 'running' && (
          <Button busy={recover.isPending} onClick={() => recover.mutate()}>
            Restore work
          </Button>
        )
      }
    >
      <p className="mb-2">
        Saved {new Date(saved.saved_at).toLocaleString()}, but not on any branch. To get it into your clone, run:
      </p>
      <Command>{`svc sessions recover ${session.session_id}`}</Command>
      {recover.isError && <Failure error={recover.error} />}
    </Notice>
  )
}
