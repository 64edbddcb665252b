/** Takes over what ahead.ts began: the answers are where the page looks for them before it is drawn, and its code is run. */
import type { Begun } from './begun.ts'
import { ignoresWhitespace } from './pages/change-requests/files/whitespace.ts'
import { changeRequest, diff, me, projectNamed, projects } from './queries.ts'
import { queries } from './query-client.ts'

export function takeFirstAnswers(): void {
  const { begun } = window
  if (begun === undefined) return
  const works: Promise<unknown>[] = [
    queries.prefetchQuery(me),
    change(begun),
    import('./pages/change-requests/detail.tsx'),
  ]
  if (begun.tab === 'files') works.push(import('./pages/change-requests/files/files-tab.tsx'))
  // What nobody took by then is of another moment than the question that would.
  void Promise.allSettled(works).then(() => (window.begun = undefined))
}

async function change({ encoded, number, tab, since }: Begun): Promise<void> {
  const { project_id } = projectNamed(decodeURIComponent(encoded))(await queries.fetchQuery(projects))
  const cr = await queries.fetchQuery(changeRequest(project_id, number))
  if (tab === 'files')
    await queries.prefetchQuery(diff(project_id, cr, { since, ignoreWhitespace: ignoresWhitespace() }))
}
