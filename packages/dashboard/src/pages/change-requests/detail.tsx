import { Tabs } from '@base-ui/react/tabs'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { CatchBoundary, getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect } from 'react'
import { isNotFound } from '../../api.ts'
import { lazy, PageFailure } from '../../components/lazy-code.tsx'
import { linkClass } from '../../components/links.tsx'
import { NoSuch } from '../../components/no-such.tsx'
import { QueryResult } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { useStored } from '../../browser/use-stored.ts'
import { useUnavailable } from '../../cache/use-unavailable.ts'
import { type ChangeRequest, changeRequestAnswer, diff, reviews, type Summary } from './queries.ts'
import { HeadedPanes, Loading } from '../../ui/layout.tsx'
import { TabList } from '../../ui/tabs.tsx'
import { CommitsTab } from './commits-tab.tsx'
import { EffectsTab } from './effects-tab.tsx'
import { Header, type Size } from './header.tsx'
import { ignoreWhitespace as stored } from './diff/whitespace.ts'
import { shownDetails } from './merge/effect-rows.tsx'
import { stateNow, useLanding } from './merge/landing.ts'
import { useMerging } from './merge/merge-button.tsx'
import { LandingPanel } from './merge/panel.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/$number')
/** Larger than the rest of the page. */
const FilesTab = lazy(() => import('./files/files-tab.tsx'), 'default')
/** It includes the Markdown parser. */
const ConversationTab = lazy(() => import('./conversation/conversation-tab.tsx'), 'default')

export function ChangeRequestPage() {
  const { project_id, slug } = useProject()
  const { number } = route.useParams()
  const { tab = 'files', since = null, to = null } = route.useSearch()
  const isNumber = /^[1-9]\d{0,8}$/.test(number)
  const found = useQuery({ ...changeRequestAnswer(project_id, Number(number)), enabled: isNumber })
  // Loads the viewer's code and the diff while the change request is still loading.
  if (tab === 'files') void FilesTab.preload?.()
  const queries = useQueryClient()
  const [ignoreWhitespace] = useStored(...stored)
  const cr = found.data?.cr
  useEffect(() => {
    if (tab === 'files' && cr !== undefined) void queries.prefetchQuery(diff(cr, { since, to, ignoreWhitespace }))
  }, [queries, tab, cr, since, to, ignoreWhitespace])
  const missing = isNotFound(found.error) ? found.error.message : null
  if (missing !== null || !isNumber)
    return (
      <NoSuch
        title={missing ?? `This project has no change request #${number}.`}
        link={
          <Link to={paths.changeRequests} params={{ project: slug }} className={linkClass}>
            See the change requests of this project
          </Link>
        }
      />
    )
  if (found.isPending)
    return (
      <HeadedPanes
        label="Landing"
        head={<h1 className="px-4 pt-5 text-xl font-semibold md:px-6">Change request #{number}</h1>}
        panel={null}
      >
        <Loading what="the change request" />
      </HeadedPanes>
    )
  return (
    <QueryResult of={found} what="the change request">
      {({ cr, summary }) => <Detail key={cr.cr_id} cr={cr} summary={summary} />}
    </QueryResult>
  )
}

interface Shown {
  cr: ChangeRequest
  summary: Summary | null
}

function Detail({ cr, summary }: Shown) {
  const { tab = 'files' } = route.useSearch()
  const navigate = route.useNavigate()
  const isAway = useUnavailable() !== null
  const merging = useMerging(cr, isAway)
  const landing = useLanding(cr, { isAway, movedFrom: merging.movedFrom })
  const size = useSize({ cr, summary })
  const reviewed = useQuery(reviews(cr)).data
  // The tab has them while it is open.
  const effects = cr.status === 'open' && landing.effects ? shownDetails(landing.effects).length : undefined
  return (
    <Tabs.Root value={tab} onValueChange={(next) => void navigate({ search: next === 'files' ? {} : { tab: next } })}>
      <HeadedPanes
        label="Landing"
        head={
          <div className="flex flex-col gap-3 px-4 pt-5 md:px-6">
            <Header cr={cr} summary={summary} state={stateNow(landing, summary?.state ?? null)} size={size} />
            <TabList
              label="Change request"
              tabs={[
                counted('files', 'Files', summary?.files),
                counted('conversation', 'Conversation', reviewed?.length),
                ['commits', 'Commits'],
                counted('effects', 'Effects', effects),
              ]}
            />
          </div>
        }
        panel={<LandingPanel cr={cr} landing={landing} summary={summary} tab={tab} merging={merging} />}
      >
        <Panels cr={cr} />
      </HeadedPanes>
    </Tabs.Root>
  )
}

/** Zero counts like an unknown count. */
const counted = <Value extends string>(value: Value, label: string, count: number | null | undefined) =>
  count ? ([value, label, count] as const) : ([value, label] as const)

/** From what the list knows, or from the diff once it is loaded. */
function useSize({ cr, summary }: Shown): Size | null {
  const { tab = 'files', since, to } = route.useSearch()
  const [ignoreWhitespace] = useStored(...stored)
  const whole = tab === 'files' && since === undefined && to === undefined && !ignoreWhitespace
  const { data } = useQuery({ ...diff(cr, { since: null, to: null, ignoreWhitespace }), enabled: whole })
  const { additions = null, deletions = null } = summary ?? {}
  if (additions !== null && deletions !== null) return { additions, deletions }
  return whole && data !== undefined ? { additions: data.additions, deletions: data.deletions } : null
}

function Panels({ cr }: { cr: ChangeRequest }) {
  const { since = null, to = null, path, line = null } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <>
      <Panel value="conversation">
        <Suspense fallback={<Loading what="the conversation" />}>
          <ConversationTab cr={cr} />
        </Suspense>
      </Panel>
      <Panel value="commits">
        <CommitsTab cr={cr} />
      </Panel>
      <Panel value="effects">
        <EffectsTab cr={cr} />
      </Panel>
      <Panel value="files">
        <Suspense fallback={<Loading what="the diff viewer" />}>
          <FilesTab
            cr={cr}
            range={{ since, to }}
            target={path === undefined ? null : { path, line }}
            onRange={({ since, to }) =>
              void navigate({
                search: { tab: 'files', ...(since !== null && { since }), ...(to !== null && { to }) },
                replace: true,
              })
            }
          />
        </Suspense>
      </Panel>
    </>
  )
}

function Panel({ value, children }: { value: string; children: ReactNode }) {
  return (
    <Tabs.Panel value={value} className="@container flex flex-col gap-3 px-4 pt-4 pb-6 outline-none md:px-6">
      <CatchBoundary getResetKey={() => value} errorComponent={PageFailure}>
        {children}
      </CatchBoundary>
    </Tabs.Panel>
  )
}
