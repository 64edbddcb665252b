import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { ChangeRequestStatus } from '../../components/status.tsx'
import { changeRequest } from '../../queries.ts'
import { Loading } from '../../ui/loading.tsx'
import { Time } from '../../ui/time.tsx'
import { MergeBox } from './merge-box.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/$number')

export function ChangeRequestPage() {
  const { project_id } = useProject()
  const { number } = route.useParams()
  const found = useQuery(changeRequest(project_id, Number(number)))
  if (found.isPending) return <Loading what="the change request" />
  if (found.isError) return <Failure error={found.error} retry={() => void found.refetch()} />
  const cr = found.data
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-col gap-1">
        <h1 className="text-xl font-semibold">
          {cr.title} <span className="font-normal text-dim">#{cr.number}</span>
        </h1>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-dim">
          <ChangeRequestStatus status={cr.status} />
          <code className="font-mono">{cr.head_ref}</code> → <code className="font-mono">{cr.base_ref}</code>
          <Time at={cr.updated_at} />
        </p>
      </header>
      {cr.description !== '' && <p className="whitespace-pre-wrap">{cr.description}</p>}
      <MergeBox projectId={project_id} cr={cr} />
    </div>
  )
}
