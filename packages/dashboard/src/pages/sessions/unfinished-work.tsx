import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Failure } from '../../components/failure.tsx'
import { type Session, unfinishedWork } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Work that was not pushed, as the service keeps it. Of a session that runs it is in its work tree still, unless it was started again. */
export function UnfinishedWork({ session }: { session: Session }) {
  const queries = useQueryClient()
  const found = useQuery(unfinishedWork(session.project_id, session.session_id))
  const recover = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions/{sessionId}/wip/recover', {
          params: { path: { projectId: session.project_id, sessionId: session.session_id } },
        }),
      ),
    onSettled: askAgain(queries, ['project', session.project_id, 'sessions']),
  })
  const kept = found.data
  if (kept === undefined || kept.saved_at === null) return null
  const isOfEarlierStart = kept.generation !== session.sandbox?.generation
  if (session.status === 'running' && !isOfEarlierStart) return null
  return (
    <Notice
      tone="warn"
      title={`Unfinished work in ${kept.files} ${kept.files === 1 ? 'file' : 'files'} is kept`}
      action={
        session.status === 'running' && (
          <Button busy={recover.isPending} onClick={() => recover.mutate()}>
            Put it back
          </Button>
        )
      }
    >
      <p className="mb-2">
        Saved {new Date(kept.saved_at).toLocaleString()}. It is on no branch. To get it into a clone of yours:
      </p>
      <Command>{`svc sessions recover ${session.session_id}`}</Command>
      {recover.isError && <Failure error={recover.error} />}
    </Notice>
  )
}
