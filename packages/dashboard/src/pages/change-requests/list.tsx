import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ChangeRequestCells } from '../../components/change-request-row.tsx'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Card, Empty, Loading, rowClass } from '../../ui/layout.tsx'
import { LongList } from '../../ui/long-list.tsx'
import { useListPages } from './list-pages.ts'

const route = getRouteApi('/shell/projects/$project/change-requests')
const statuses = ['open', 'merged', 'closed', 'all'] as const
type Status = (typeof statuses)[number]
const rowPx = 46

export function ChangeRequestsPage() {
  const { slug } = useProject()
  const filter = route.useSearch()
  const { status = 'open', search = '' } = filter
  const navigate = route.useNavigate()
  const [text, setText] = useState(search)
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
            New change request
          </Link>
        </div>
      </div>
      <input
        type="search"
        aria-label="Filter by title, branch or number"
        placeholder="Filter by title, branch or number"
        value={text}
        maxLength={256}
        onChange={({ target: { value } }) => {
          setText(value)
          const { search: _, ...others } = filter
          void navigate({ search: value.trim() === '' ? others : { ...others, search: value.trim() }, replace: true })
        }}
        className="min-h-9 w-full rounded-md border border-line-strong bg-ground px-3 text-base sm:max-w-md"
      />
      <ChangeRequestList key={`${status} ${search}`} status={status} search={search} />
    </div>
  )
}

function ChangeRequestList({ status, search }: { status: Status; search: string }) {
  const { project_id, slug } = useProject()
  const { rows, next, isLoading, error, retry, onShown } = useListPages(project_id, { status, search })
  const isAll = next === null && !isLoading && error === null
  return (
    <>
      {error !== null && <Failure error={error} retry={retry} />}
      {rows.length > 0 && (
        <>
          <p className="text-xs text-dim" role="status">
            {isAll ? counted(rows.length) : `Showing the newest ${rows.length}. Scroll to load more.`}
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
            <Empty>No change requests match “{search}”.</Empty>
          ) : status === 'open' || status === 'all' ? (
            <Empty command={`svc cr open --title "<what it does>" --head <branch> --project ${slug}`}>
              {emptyText(status)} A change request proposes merging a branch. Agents open them from their sessions. To
              propose your own branch, choose New change request or run:
            </Empty>
          ) : (
            <Empty>{emptyText(status)}</Empty>
          )}
        </Card>
      )}
    </>
  )
}

function counted(count: number): string {
  return count === 1 ? '1 change request' : `${count} change requests`
}

function emptyText(status: Status): string {
  return status === 'all' ? 'No change requests yet.' : `No ${status} change requests.`
}
