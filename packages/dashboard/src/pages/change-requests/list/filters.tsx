import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { useStored } from '../../../browser/use-stored.ts'
import { paths } from '../../../paths.ts'
import { fieldClass } from '../../../ui/form.tsx'
import { members } from '../../account/queries.ts'
import type { ListFilter } from '../queries.ts'

const route = getRouteApi('/shell/projects/$project/change-requests')
const statuses = ['open', 'merged', 'closed', 'all'] as const
const sorts = [
  ['newest', 'Newest first'],
  ['updated', 'Recently updated'],
  ['ready', 'Ready first'],
] as const

type Search = ReturnType<typeof route.useSearch>

export const filterOf = ({
  status = 'open',
  search = '',
  sort = 'newest',
  author = null,
}: SearchOrNull): ListFilter => ({
  ...{ status, search, sort, author },
})
type SearchOrNull = Omit<Search, 'author'> & { author?: string | null }

/** Only what differs from the first visit is in the address. */
const searchOf = ({ status, search, sort, author }: ListFilter): Search => ({
  ...(status === 'open' ? {} : { status }),
  ...(search.trim() === '' ? {} : { search: search.trim() }),
  ...(sort === 'newest' ? {} : { sort }),
  ...(author === null ? {} : { author }),
})

const chip =
  'inline-flex min-h-control items-center gap-1.5 rounded-full border border-edge px-2.5 text-sm font-medium text-dim capitalize hover:bg-hover hover:text-text'
const active =
  'aria-[current=page]:border-accent aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent data-active:border-accent data-active:bg-accent-soft data-active:text-accent'

/** A filter is current if the address has exactly it. */
const exactly = { exact: true, includeSearch: true }

/** The filter is in the address. */
export function Filters() {
  const { slug, account_id } = useProject()
  const filter = filterOf(route.useSearch())
  const navigate = route.useNavigate()
  const [text, setText] = useState(filter.search)
  const people = useQuery({ ...members(account_id), staleTime: 60_000 }).data ?? []
  const set = (changed: Partial<ListFilter>) =>
    void navigate({ search: searchOf({ ...filter, search: text, ...changed }), replace: true })
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div role="group" aria-label="Status" className="flex flex-wrap gap-1">
        {statuses.map((status) => (
          <Link
            key={status}
            to={paths.changeRequests}
            params={{ project: slug }}
            search={searchOf({ ...filter, status })}
            activeOptions={exactly}
            className={`${chip} ${active}`}
          >
            {status}
          </Link>
        ))}
      </div>
      <Choice
        label="Author"
        isActive={filter.author !== null}
        value={filter.author ?? ''}
        onChange={(author) => set({ author: author === '' ? null : author })}
      >
        <option value="">All authors</option>
        {people.map(({ user_id, name, email }) => (
          <option key={user_id} value={user_id}>
            {name || email}
          </option>
        ))}
      </Choice>
      <Choice
        label="Sort"
        isActive={filter.sort !== 'newest'}
        value={filter.sort}
        onChange={(sort) => set({ sort: sort as ListFilter['sort'] })}
      >
        {sorts.map(([sort, label]) => (
          <option key={sort} value={sort}>
            {label}
          </option>
        ))}
      </Choice>
      <input
        type="search"
        aria-label="Filter by title, branch, session or number"
        placeholder="Filter by title, branch, session or number"
        value={text}
        maxLength={256}
        onChange={({ target: { value } }) => {
          setText(value)
          set({ search: value })
        }}
        className={`${fieldClass} min-w-0 flex-1 basis-60 sm:max-w-sm ${filter.search === '' ? '' : 'border-accent bg-accent-soft'}`}
      />
      <Saved
        filter={filter}
        nameOf={(author) => people.find(({ user_id }) => user_id === author)?.name ?? 'one author'}
        onPick={(picked) => setText(picked.search)}
      />
    </div>
  )
}

function Choice({
  label,
  isActive,
  value,
  onChange,
  children,
}: {
  label: string
  isActive: boolean
  value: string
  onChange: (value: string) => void
  children: ReactNode
}) {
  return (
    <select
      aria-label={label}
      data-active={isActive || undefined}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      className={`${chip} max-w-44 bg-ground normal-case ${active}`}
    >
      {children}
    </select>
  )
}

const none: ListFilter[] = []
const savedMax = 12

/** The filters that this person saved for the project, in this browser. */
function Saved({
  filter,
  nameOf,
  onPick,
}: {
  filter: ListFilter
  nameOf: (author: string) => string
  onPick: (filter: ListFilter) => void
}) {
  const { slug, project_id } = useProject()
  const [saved, setSaved] = useStored(`svc-list-filters-${project_id}`, none)
  const keyOf = (each: ListFilter) => JSON.stringify(searchOf(each))
  const isSaved = saved.some((each) => keyOf(each) === keyOf(filter))
  const remove = (removed: ListFilter) => setSaved(saved.filter((each) => keyOf(each) !== keyOf(removed)))
  return (
    <>
      {!isSaved && keyOf(filter) !== '{}' && saved.length < savedMax && (
        <button
          type="button"
          className={`${chip} border-dashed normal-case`}
          onClick={() => setSaved([...saved, filter])}
        >
          Save filter
        </button>
      )}
      {saved.length > 0 && (
        <ul aria-label="Saved filters" className="flex w-full flex-wrap gap-2">
          {saved.map((each) => {
            const name = wordsOf(each, nameOf)
            return (
              <li key={keyOf(each)} className="flex items-center">
                <Link
                  to={paths.changeRequests}
                  params={{ project: slug }}
                  search={searchOf(each)}
                  onClick={() => onPick(each)}
                  activeOptions={exactly}
                  className={`${chip} ${active} rounded-r-none border-r-0 normal-case`}
                >
                  {name}
                </Link>
                <button
                  type="button"
                  aria-label={`Remove the filter ${name}`}
                  className={`${chip} rounded-l-none px-2`}
                  onClick={() => remove(each)}
                >
                  ×
                </button>
              </li>
            )
          })}
        </ul>
      )}
    </>
  )
}

function wordsOf({ status, search, sort, author }: ListFilter, nameOf: (author: string) => string): string {
  const parts = [
    status.charAt(0).toUpperCase() + status.slice(1),
    author === null ? null : `by ${nameOf(author)}`,
    search === '' ? null : `“${search}”`,
    sort === 'newest' ? null : sorts.find(([each]) => each === sort)![1].toLowerCase(),
  ]
  return parts.filter((part) => part !== null).join(', ')
}
