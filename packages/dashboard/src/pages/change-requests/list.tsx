import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ChangeRequestCells } from '../../components/change-request-row.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Empty, rowClass } from '../../ui/card.tsx'
import { Loading } from '../../ui/loading.tsx'
import { LongList } from '../../ui/long-list.tsx'
import { useListPages } from './list-pages.ts'

const route = getRouteApi('/shell/projects/$project/change-requests')
const statuses = ['open', 'merged', 'closed', 'all'] as const
type Status = (typeof statuses)[number]
const rowPx = 46

export function ChangeRequestsPage() {
  const { slug } = useProject()
  const asked = route.useSearch()
  const { status = 'open', search = '' } = asked
  const navigate = route.useNavigate()
  const [written, setWritten] = useState(search)
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
                search={{ ...(each === 'open' ? {} : { status: each }), ...(search === '' ? {} : { search }) }}
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
      <input
        type="search"
        aria-label="Filter by title, branch or number"
        placeholder="Filter by title, branch or number"
        value={written}
        maxLength={256}
        onChange={({ target: { value } }) => {
          setWritten(value)
          const { search: _, ...others } = asked
          void navigate({ search: value.trim() === '' ? others : { ...others, search: value.trim() }, replace: true })
        }}
        className="min-h-9 w-full rounded-md border border-line-strong bg-ground px-3 text-base sm:max-w-md"
      />
      <Found key={`${status} ${search}`} status={status} search={search} />
    </div>
  )
}

function Found({ status, search }: { status: Status; search: string }) {
  const { project_id, slug } = useProject()
  const { rows, next, isLoading, error, retry, onShown } = useListPages(project_id, { status, search })
  const isAll = next === null && !isLoading && error === null
  return (
    <>
      {error !== null && <Failure error={error} retry={retry} />}
      {rows.length > 0 && (
        <>
          <p className="text-xs text-dim" role="status">
            {isAll ? counted(rows.length) : `The newest ${rows.length}; more come as you scroll`}
          </p>
          <Card>
            <LongList
              label="Change requests"
              rows={rows}
              keyOf={({ cr_id }) => cr_id}
              rowPx={rowPx}
              total={isAll ? rows.length : null}
              onShown={onShown}
            >
              {(cr, index) => (
                <div className={`${rowClass} ${index === 0 ? '' : 'border-t border-line'}`}>
                  <ChangeRequestCells cr={cr} slug={slug}>
                    {cr.head_ref} → {cr.base_ref}
                  </ChangeRequestCells>
                </div>
              )}
            </LongList>
          </Card>
        </>
      )}
      {rows.length === 0 && isLoading && <Loading what="change requests" />}
      {rows.length === 0 && isAll && (
        <Card>
          {search !== '' ? (
            <Empty>Nothing with “{search}” in its title or branch.</Empty>
          ) : status === 'open' || status === 'all' ? (
            <Empty command={`svc cr open --title "<what it does>" --head <branch> --project ${slug}`}>
              {nothing(status)} A session opens one when its agent has something to merge; a branch of yours is proposed
              by Open one, or in a terminal:
            </Empty>
          ) : (
            <Empty>{nothing(status)}</Empty>
          )}
        </Card>
      )}
    </>
  )
}

function counted(count: number): string {
  return count === 1 ? '1 change request' : `${count} change requests`
}

function nothing(status: Status): string {
  return status === 'all' ? 'No change request yet.' : `No ${status} change request.`
}
