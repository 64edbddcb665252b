import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ChangeRequestCells } from '../../components/change-request-row.tsx'
import { Failure } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { buttonClass, fieldClass } from '../../ui/form.tsx'
import { Card, Empty, Loading, Page, rowClass } from '../../ui/layout.tsx'
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
    <Page
      title="Change requests"
      aside={
        <Link to={paths.newChangeRequest} params={{ project: slug }} className={buttonClass('primary')}>
          New change request
        </Link>
      }
    >
      <div className="flex flex-wrap items-center gap-2">
        <div role="group" aria-label="Status" className="flex gap-1">
          {statuses.map((each) => (
            <Link
              key={each}
              to={paths.changeRequests}
              params={{ project: slug }}
              search={{ ...(each === 'open' ? {} : { status: each }), ...(search === '' ? {} : { search }) }}
              aria-current={each === status ? 'true' : undefined}
              className="rounded-md px-2.5 py-1 text-sm font-medium text-dim hover:bg-hover hover:text-text aria-[current=true]:bg-selected aria-[current=true]:text-text"
            >
              {each}
            </Link>
          ))}
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
          className={`${fieldClass} min-w-0 flex-1 basis-60 sm:max-w-sm`}
        />
      </div>
      <ChangeRequestList key={`${status} ${search}`} status={status} search={search} />
    </Page>
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
