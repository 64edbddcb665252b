import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { ChangeRequestStatus } from '../../components/status.tsx'
import { paths } from '../../paths.ts'
import { changeRequests } from '../../queries.ts'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Time } from '../../ui/time.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests')
const statuses = ['open', 'merged', 'closed', 'all'] as const

export function ChangeRequestsPage() {
  const { project_id, slug } = useProject()
  const { status = 'open' } = route.useSearch()
  const list = useQuery(changeRequests(project_id, status))
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-xl font-semibold">Change requests</h1>
        <div role="group" aria-label="Status" className="flex gap-1">
          {statuses.map((each) => (
            <Link
              key={each}
              to={paths.changeRequests}
              params={{ project: slug }}
              search={each === 'open' ? {} : { status: each }}
              aria-current={each === status ? 'true' : undefined}
              className="rounded-md px-2.5 py-1.5 text-sm text-dim hover:text-text aria-[current=true]:bg-sunken aria-[current=true]:text-text"
            >
              {each}
            </Link>
          ))}
        </div>
      </div>
      {list.isPending ? (
        <Loading what="change requests" />
      ) : list.isError ? (
        <Failure error={list.error} retry={() => void list.refetch()} />
      ) : (
        <Card>
          {list.data.length === 0 ? (
            <Empty>{status === 'all' ? 'No change request yet.' : `No ${status} change request.`}</Empty>
          ) : (
            <Rows label="Change requests">
              {list.data.map((cr) => (
                <Row key={cr.cr_id}>
                  <ChangeRequestStatus status={cr.status} />
                  <Link
                    to={paths.changeRequest}
                    params={{ project: slug, number: String(cr.number) }}
                    className="min-w-0 flex-1 font-medium hover:underline"
                  >
                    #{cr.number} {cr.title}
                  </Link>
                  <span className="text-sm text-dim">
                    {cr.head_ref} → {cr.base_ref}
                  </span>
                  <Time at={cr.updated_at} />
                </Row>
              ))}
            </Rows>
          )}
        </Card>
      )}
    </div>
  )
}
