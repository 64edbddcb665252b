/**
 * The first script of the document. What a page of a change request shows, and the code that draws it, are asked for at once
 * instead of one when the other is there. Nothing waits for this: what fails here the page asks for again, and says so.
 */
import { ignoresWhitespace } from './pages/change-requests/files/whitespace.ts'
import { changeRequest, diff, me, projectNamed, projects } from './queries.ts'
import { queries } from './query-client.ts'

const address = /^\/projects\/([^/]+)\/change-requests\/(\d+)$/.exec(location.pathname)
if (address !== null) {
  const [, name = '', number] = address
  const search = new URLSearchParams(location.search)
  begin(import('./pages/change-requests/detail.tsx'))
  if (search.get('tab') === 'files') begin(import('./pages/change-requests/files/files-tab.tsx'))
  begin(queries.prefetchQuery(me))
  begin(askForChange(name, Number(number), search))
}

async function askForChange(encoded: string, number: number, search: URLSearchParams): Promise<void> {
  const { project_id } = projectNamed(decodeURIComponent(encoded))(await queries.fetchQuery(projects))
  const cr = await queries.fetchQuery(changeRequest(project_id, number))
  if (search.get('tab') !== 'files') return
  const since = search.get('since')
  await queries.prefetchQuery(diff(project_id, cr, { since, ignoreWhitespace: ignoresWhitespace() }))
}

function begin(work: Promise<unknown>): void {
  work.catch(() => {
    // The page comes to the same and shows it.
  })
}
