import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { Failure } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { buttonClass } from '../../../ui/form.tsx'
import { Empty, Page, Skeleton } from '../../../ui/layout.tsx'
import { LongList } from '../../../ui/long-list.tsx'
import { useShortcuts } from '../../../ui/use-shortcuts.ts'
import type { ListFilter } from '../queries.ts'
import { BulkActions, BulkReport, useBulk } from './bulk.tsx'
import { Filters, filterOf } from './filters.tsx'
import { useListPages } from './pages.ts'
import { ListRow } from './row.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests')
const rowPx = 58

const keyNames = [
  ['j', 'Next change request'],
  ['k', 'Previous change request'],
  ['x', 'Select it'],
  ['Enter', 'Open it'],
] as const

export function ChangeRequestsPage() {
  const { slug } = useProject()
  const filter = filterOf(route.useSearch())
  return (
    <Page
      title="Change requests"
      aside={
        <Link to={paths.newChangeRequest} params={{ project: slug }} className={buttonClass('primary')}>
          New change request
        </Link>
      }
    >
      <div className="flex flex-col gap-3">
        <Filters />
        <ChangeRequestList key={JSON.stringify(filter)} filter={filter} />
      </div>
    </Page>
  )
}

function ChangeRequestList({ filter }: { filter: ListFilter }) {
  const { project_id, slug } = useProject()
  const { rows, summaries, next, isLoading, error, retry, onShown } = useListPages(project_id, filter)
  const selection = useSelection()
  const bulk = useBulk()
  const isAll = next === null && !isLoading && error === null
  const selected = rows
    .filter(({ cr_id }) => selection.ids.has(cr_id))
    .map((cr) => ({ cr, summary: summaries[cr.cr_id] }))
  useRowKeys((index) => {
    const cr = rows[index]
    if (cr !== undefined) selection.set(cr.cr_id, !selection.ids.has(cr.cr_id))
  })
  return (
    <>
      {error !== null && <Failure error={error} retry={retry} />}
      <BulkReport action={bulk} />
      {rows.length > 0 && (
        <>
          <div className="flex min-h-control items-center">
            {selected.length > 0 ? (
              <BulkActions selected={selected} action={bulk} onClear={selection.clear} />
            ) : (
              <p className="text-xs text-dim" role="status">
                {isAll ? counted(rows.length) : `Showing the ${firstOnes(filter)} ${rows.length}. Scroll to load more.`}
              </p>
            )}
          </div>
          <div className="-mx-4 border-t border-line md:-mx-6">
            <LongList
              label="Change requests"
              rows={rows}
              keyOf={({ cr_id }) => cr_id}
              rowPx={rowPx}
              total={isAll ? rows.length : null}
              onShown={onShown}
            >
              {(cr) => (
                <ListRow
                  cr={cr}
                  summary={summaries[cr.cr_id]}
                  slug={slug}
                  isSelected={selection.ids.has(cr.cr_id)}
                  onSelect={(isSelected) => selection.set(cr.cr_id, isSelected)}
                />
              )}
            </LongList>
          </div>
        </>
      )}
      {rows.length === 0 && isLoading && <Skeleton what="change requests" rows={5} />}
      {rows.length === 0 && isAll && <Nothing filter={filter} />}
    </>
  )
}

const none: ReadonlySet<string> = new Set()

function useSelection() {
  const [ids, setIds] = useState(none)
  return {
    ids,
    set: (id: string, isSelected: boolean) =>
      setIds((before) => new Set(isSelected ? [...before, id] : [...before].filter((each) => each !== id))),
    clear: () => setIds(none),
  }
}

/** `j` and `k` move the focus from row to row, and `x` selects. Enter opens the focused one, as it is a link. */
function useRowKeys(select: (index: number) => void): void {
  const actions = useMemo(
    () => ({
      j: () => focusRow(focusedRow() + 1),
      k: () => focusRow(Math.max(focusedRow() - 1, 0)),
      x: () => focusedRow() >= 0 && select(focusedRow()),
    }),
    [select],
  )
  useShortcuts(actions, keyNames)
}

const focusedRow = () => Number(document.activeElement?.closest('li[data-index]')?.getAttribute('data-index') ?? -1)

/** Rows near the screen are in the document. */
function focusRow(index: number): void {
  document.querySelector<HTMLElement>(`li[data-index="${index}"] a`)?.focus()
}

function Nothing({ filter: { status, search, author } }: { filter: ListFilter }) {
  const { slug } = useProject()
  if (search !== '') return <Empty>No change requests match “{search}”.</Empty>
  if (author !== null) return <Empty>This author has no such change requests.</Empty>
  if (status !== 'open' && status !== 'all') return <Empty>No {status} change requests.</Empty>
  return (
    <Empty command={`svc cr open --title "<what it does>" --head <branch> --project ${slug}`}>
      {status === 'all' ? 'No change requests yet.' : 'No open change requests.'} A change request proposes merging a
      branch. Agents open them from their sessions. To propose your own branch, choose New change request or run:
    </Empty>
  )
}

const firstOnes = ({ sort }: ListFilter) => (sort === 'newest' ? 'newest' : 'first')

function counted(count: number): string {
  return count === 1 ? '1 change request' : `${count} change requests`
}
