import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { ChangeRequestRow } from '../../components/change-request-row.tsx'
import { Older } from '../../components/older.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { changeRequestPage } from '../../queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Empty, Rows } from '../../ui/card.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests')
const statuses = ['open', 'merged', 'closed', 'all'] as const

export function ChangeRequestsPage() {
  const { project_id, slug } = useProject()
  const { status = 'open', cursor = null } = route.useSearch()
  const page = useQuery(changeRequestPage(project_id, status, cursor))
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-xl font-semibold">Change requests</h1>
        <div className="flex flex-wrap items-center gap-2">
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
          <Link to={paths.newChangeRequest} params={{ project: slug }} className={buttonClass()}>
            Open one
          </Link>
        </div>
      </div>
      <Answer of={page} what="change requests">
        {({ data: { change_requests: list }, cursor: next }) => (
          <Card>
            {list.length === 0 ? (
              <Empty>{status === 'all' ? 'No change request yet.' : `No ${status} change request.`}</Empty>
            ) : (
              <Rows label="Change requests">
                {list.map((cr) => (
                  <ChangeRequestRow key={cr.cr_id} cr={cr} slug={slug}>
                    {cr.head_ref} → {cr.base_ref}
                  </ChangeRequestRow>
                ))}
              </Rows>
            )}
            <Older cursor={cursor} next={next} />
          </Card>
        )}
      </Answer>
    </div>
  )
}
