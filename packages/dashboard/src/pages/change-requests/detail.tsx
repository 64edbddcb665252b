import { Tabs } from '@base-ui/react/tabs'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { QueryResult } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ChangeRequestStatus } from '../../components/status.tsx'
import { useStored } from '../../browser/use-stored.ts'
import { type ChangeRequest, changeRequest, diff } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { Loading } from '../../ui/layout.tsx'
import { TabList } from '../../ui/tabs.tsx'
import { Time } from '../../ui/text.tsx'
import { useTitle } from '../../ui/title.ts'
import { CommitsTab } from './commits-tab.tsx'
import { EffectsTab } from './effects-tab.tsx'
import { EditTitle } from './edit-title.tsx'
import { ignoreWhitespace as stored } from './diff/whitespace.ts'
import { NamedSessionLink } from '../../components/links.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/$number')
/** Larger than the rest of the page. */
const loadFilesTab = () => import('./files/files-tab.tsx')
const FilesTab = lazy(loadFilesTab)
/** It includes the Markdown parser. */
const ConversationTab = lazy(() => import('./conversation/conversation-tab.tsx'))
const tabs = [
  ['conversation', 'Conversation'],
  ['commits', 'Commits'],
  ['files', 'Files'],
  ['effects', 'Effects'],
] as const

export function ChangeRequestPage() {
  const { project_id } = useProject()
  const { number } = route.useParams()
  const { tab = 'conversation', since = null, to = null } = route.useSearch()
  const navigate = route.useNavigate()
  const found = useQuery(changeRequest(project_id, Number(number)))
  // Loads the viewer's code and the diff while the change request is still loading.
  if (tab === 'files') void loadFilesTab()
  const queries = useQueryClient()
  const [ignoreWhitespace] = useStored(...stored)
  const { data } = found
  useEffect(() => {
    if (tab === 'files' && data !== undefined) void queries.prefetchQuery(diff(data, { since, to, ignoreWhitespace }))
  }, [queries, tab, data, since, to, ignoreWhitespace])
  return (
    <QueryResult of={found} what="the change request">
      {(cr) => (
        <div className="flex flex-col gap-4">
          <Header cr={cr} />
          <Tabs.Root
            value={tab}
            onValueChange={(next) => void navigate({ search: next === 'conversation' ? {} : { tab: next } })}
          >
            <div className="mb-4">
              <TabList label="Change request" tabs={tabs} />
            </div>
            <Tabs.Panel value="conversation" className="flex flex-col gap-6 outline-none">
              <Suspense fallback={<Loading what="the conversation" />}>
                <ConversationTab cr={cr} />
              </Suspense>
            </Tabs.Panel>
            <Tabs.Panel value="commits" className="outline-none">
              <CommitsTab cr={cr} />
            </Tabs.Panel>
            <Tabs.Panel value="effects" className="outline-none">
              <EffectsTab cr={cr} />
            </Tabs.Panel>
            <Tabs.Panel value="files" className="flex flex-col gap-3 outline-none">
              <Suspense fallback={<Loading what="the diff viewer" />}>
                <FilesTab
                  cr={cr}
                  range={{ since, to }}
                  onRange={({ since, to }) =>
                    void navigate({
                      search: { tab: 'files', ...(since !== null && { since }), ...(to !== null && { to }) },
                      replace: true,
                    })
                  }
                />
              </Suspense>
            </Tabs.Panel>
          </Tabs.Root>
        </div>
      )}
    </QueryResult>
  )
}

function Header({ cr }: { cr: ChangeRequest }) {
  useTitle(`#${cr.number} ${cr.title}`)
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditTitle cr={cr} onDone={() => setEditing(false)} />
  return (
    <header className="flex flex-col gap-1">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <h1 className="min-w-0 text-xl font-semibold">
          {cr.title} <span className="font-normal text-dim">#{cr.number}</span>
        </h1>
        {cr.status !== 'merged' && <Button onClick={() => setEditing(true)}>Edit</Button>}
      </div>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-dim">
        <ChangeRequestStatus cr={cr} />
        <code className="font-mono">{cr.head_ref}</code> → <code className="font-mono">{cr.base_ref}</code>
        <Time at={cr.updated_at} />
        {cr.origin_session_id !== null && <NamedSessionLink sessionId={cr.origin_session_id} />}
      </p>
    </header>
  )
}
