/** Shows a page while its code or its subject loads: the frame and the heading stay, and the placeholder is inside. */
import { useLocation, useParams } from '@tanstack/react-router'
import { Loading, Page } from '../../ui/layout.tsx'
import { projectPages, titles } from './rooms.ts'

export function PendingPage({ what = 'the page' }: { what?: string }) {
  return (
    <Page title={usePageTitle()}>
      <Loading what={what} />
    </Page>
  )
}

/** The address alone tells so much. */
function usePageTitle(): string {
  const { pathname } = useLocation()
  const { project, number, sessionId } = useParams({ strict: false })
  if (number !== undefined) return `Change request #${number}`
  if (sessionId !== undefined) return 'Session'
  if (project === undefined) return titles[pathname] || 'Inbox'
  return projectPages.find(({ to }) => pathname.startsWith(to.replace('$project', project)))?.label ?? 'Project'
}

/** The frame of index.html, until it is known who is signed in. */
export function PendingShell() {
  return (
    <div className="md:grid md:grid-cols-[var(--spacing-sidebar)_minmax(0,1fr)]">
      <div aria-hidden className="h-dvh border-r border-line bg-side max-md:hidden">
        <div className="flex flex-col gap-3 px-2 pt-3">
          <p className="flex items-center gap-2 px-2 text-lg font-semibold">
            <span className="size-4.5 rounded-[5px] bg-linear-135 from-accent-fill to-merged" />
            svc
          </p>
          <div className="min-h-control rounded-md border border-edge bg-panel" />
        </div>
      </div>
      <main>
        <div className="flex min-h-bar items-center border-b border-line bg-ground px-4 md:px-6">
          <h1 className="truncate font-semibold">{usePageTitle()}</h1>
        </div>
        <Loading what="your account" />
      </main>
    </div>
  )
}
