/** The inbox groups the work of all projects by what it needs from the person, with the next action of each item and its keys. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { lazy } from '../../components/lazy-code.tsx'
import { InboxEvents } from '../../cache/inbox-events.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { Failure } from '../../components/requests.tsx'
import { paths } from '../../paths.ts'
import { buttonClass } from '../../ui/form.tsx'
import { Notice, Page, Skeleton } from '../../ui/layout.tsx'
import { findProject } from '../projects/find-project.ts'
import { type Project, projects } from '../projects/queries.ts'
import { InboxList } from './list.tsx'
import { type Inbox, inbox, type View } from './queries.ts'
import { useKept } from './use-kept.ts'

const FirstVisit = lazy(() => import('./first-visit.tsx'), 'default')
const route = getRouteApi('/shell/')

const titles: Record<View, string> = { open: 'Inbox', snoozed: 'Snoozed', done: 'Done' }

const eachFirst = 50
const eachMax = 200

export function InboxPage() {
  const { view = 'open', project: named } = route.useSearch()
  const [each, setEach] = useKept('each', eachFirst)
  const all = useQuery(projects)
  // Both requests leave at once, unless the filter needs the id of the project.
  const filter = named === undefined ? null : findProject(all.data ?? [], named)
  const found = useQuery({
    ...inbox(view, filter?.project_id ?? null, each),
    enabled: named === undefined || all.data !== undefined,
  })
  // It stays when its second step has made the first project.
  const [isFirst, setFirst] = useState(false)
  if (all.data?.length === 0 && !isFirst) setFirst(true)
  if (isFirst)
    return (
      <Suspense fallback={<Skeleton what="the first steps" rows={3} />}>
        <FirstVisit project={all.data?.[0]} />
      </Suspense>
    )
  const error = all.data === undefined ? all.error : found.data === undefined ? found.error : null
  return (
    <Page
      title={titles[view]}
      aside={<Actions view={view} all={all.data ?? []} filter={filter ?? null} of={found.data} />}
    >
      <InboxEvents />
      {error !== null && <Failure error={error} retry={() => void (all.refetch(), found.refetch())} />}
      {found.data === undefined
        ? error === null && <Skeleton what="your inbox" rows={8} />
        : all.data !== undefined && (
            <>
              <NoModel />
              {named !== undefined && filter === undefined && (
                <Notice tone="warn" title={`Project ${named} doesn't exist, or you don't have access to it`} />
              )}
              <InboxList
                key={view}
                view={view}
                of={found.data}
                first={filter ?? all.data[0]!}
                onMore={each < eachMax ? () => setEach(eachMax) : null}
              />
            </>
          )}
    </Page>
  )
}

function Actions({
  view,
  all,
  filter,
  of,
}: {
  view: View
  all: Project[]
  filter: Project | null
  of: Inbox | undefined
}) {
  const navigate = useNavigate()
  const inProject = filter === null ? {} : { project: filter.slug }
  const first = filter ?? all[0]
  return (
    <>
      {view === 'open' ? (
        (['snoozed', 'done'] as const).map((each) => (
          <Link
            key={each}
            to={paths.home}
            search={{ ...inProject, view: each }}
            className={`${buttonClass('quiet')} max-sm:px-1.5!`}
          >
            {titles[each]}
            {of !== undefined && of[each] > 0 && <span className="text-faint">{of[each]}</span>}
          </Link>
        ))
      ) : (
        <Link to={paths.home} search={inProject} className={buttonClass('quiet')}>
          Back to inbox
        </Link>
      )}
      {all.length > 1 && (
        <select
          aria-label="Filter by project"
          className={`${buttonClass()} max-w-40 max-sm:max-w-28`}
          value={filter?.slug ?? ''}
          onChange={({ target }) => {
            const search = target.value === '' ? {} : { project: target.value }
            void navigate({ to: paths.home, search: view === 'open' ? search : { ...search, view } })
          }}
        >
          <option value="">All projects</option>
          {all.map(({ project_id, slug, name }) => (
            <option key={project_id} value={slug}>
              {name}
            </option>
          ))}
        </select>
      )}
      {first !== undefined && (
        <Link to={paths.sessions} params={{ project: first.slug }} className={buttonClass('primary')}>
          <span>
            New<span className="max-sm:sr-only"> session</span>
          </span>
        </Link>
      )}
    </>
  )
}
