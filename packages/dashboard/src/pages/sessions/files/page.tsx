import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import { SessionLink } from '../../../components/links.tsx'
import { Failure } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { SessionStatusNow } from '../../../components/session-status.tsx'
import { Button } from '../../../ui/form.tsx'
import { Card, Empty, Skeleton } from '../../../ui/layout.tsx'
import { useTitle } from '../../../ui/title.ts'
import { useShortcuts } from '../../../ui/use-shortcuts.ts'
import type { Session } from '../queries.ts'
import { ReadSession } from '../read-session.tsx'
import { Content } from './content.tsx'
import { filesKey, type Found, sessionFiles } from './queries.ts'
import { FileTree } from './tree.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId/files')

/** The work tree of a session: folders that open one by one, and the file that was chosen. */
export function SessionFilesPage() {
  const { sessionId } = route.useParams()
  return <ReadSession sessionId={sessionId}>{(session) => <Files key={sessionId} session={session} />}</ReadSession>
}

function Files({ session }: { session: Session }) {
  const { slug } = useProject()
  const { path = '' } = route.useSearch()
  const top = useQuery(sessionFiles(session, ''))
  const reload = useReload(session)
  useTitle(`Files of ${session.name}`)
  const notes = top.data?.notes ?? []
  return (
    <div className="flex flex-col gap-4 lg:min-h-page">
      <header className="flex flex-wrap items-center gap-2">
        <h1 className="text-xl font-semibold wrap-anywhere">
          Files of{' '}
          <SessionLink project={slug} sessionId={session.session_id}>
            {session.name}
          </SessionLink>
        </h1>
        <SessionStatusNow session={session} />
        <span className="flex-1" />
        <Button busy={reload.isBusy} title="Read the files again (r)" onClick={reload.now}>
          <RotateCw aria-hidden className="size-3.5" />
          Reload
        </Button>
      </header>
      <p className="text-sm text-dim">{sourceOf(session)}</p>
      <div className="grid flex-1 grid-cols-[minmax(0,1fr)] content-start items-start gap-4 lg:grid-cols-[19rem_minmax(0,1fr)] lg:content-stretch">
        <div className="min-w-0 lg:sticky lg:top-[calc(var(--spacing-bar)+1.25rem)] lg:h-[calc(var(--spacing-page)-5.25rem)] lg:[&>section]:h-full">
          {top.data === undefined && top.isError ? (
            <Failure error={top.error} retry={() => void top.refetch()} />
          ) : (
            <Card>
              {top.data === undefined ? (
                <Skeleton what="the files" rows={8} />
              ) : (
                <FileTree session={session} path={path} notes={notesOf(top.data)} />
              )}
            </Card>
          )}
        </div>
        <div className="flex min-w-0 flex-col self-stretch lg:[&>section]:flex-1">
          {path === '' ? (
            <Card>
              <Empty>Choose a file to see its content.</Empty>
            </Card>
          ) : (
            <Content key={path} session={session} path={path} known={notes} />
          )}
        </div>
      </div>
    </div>
  )
}

function sourceOf({ status }: Session): string {
  if (status === 'running') return 'The work tree of the sandbox as it is now, with files that are not committed.'
  if (status === 'provisioning') return 'The sandbox is starting. Its files are here once it runs.'
  return `The session is ${status}. These are the files of its branch with the work that was saved last, without files that git ignores.`
}

/** What is not shown, or not known. The first note of saved files says that they are saved, as the page does. */
function notesOf({ source, notes, git }: Found): string[] {
  const unknown = 'git did not answer in time, so it is not known which files are committed.'
  return [...(git === null ? [unknown] : []), ...(source === 'saved' ? notes.slice(1) : notes)]
}

const keyNames = [['r', 'Reload the files']] as const

/** All that is open is read again. */
function useReload(session: Session) {
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const now = () => {
    setBusy(true)
    void queries.invalidateQueries({ queryKey: filesKey(session) }).finally(() => setBusy(false))
  }
  useShortcuts({ r: now }, keyNames)
  return { isBusy, now }
}
