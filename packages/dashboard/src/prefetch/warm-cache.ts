/** Puts the answers that prefetch/script.ts waits for into the query cache before the page renders, and runs the page's code. */
import { queries } from '../cache/query-client.ts'
import { readStored } from '../browser/storage.ts'
import { me } from '../pages/account/queries.ts'
import { ignoreWhitespace } from '../pages/change-requests/diff/whitespace.ts'
import { changeRequestAnswer, diff } from '../pages/change-requests/queries.ts'
import { projectNamed, projects } from '../pages/projects/queries.ts'
import { type Address, address, dropPrefetched } from './script.ts'

export function warmCache(): void {
  if (address === null) return
  const works: Promise<unknown>[] = [
    queries.prefetchQuery(me),
    warmChangeRequest(address),
    import('../pages/change-requests/detail.tsx'),
  ]
  if (isFilesTab(address)) works.push(import('../pages/change-requests/files/files-tab.tsx'))
  void Promise.allSettled(works).then(dropPrefetched)
}

/** The tab that opens without one in the address. */
const isFilesTab = ({ tab }: Pick<Address, 'tab'>) => tab === null || tab === 'files'

async function warmChangeRequest({ project, number, tab, since, to }: Address): Promise<void> {
  const { project_id } = projectNamed(project)(await queries.fetchQuery(projects))
  const { cr } = await queries.fetchQuery(changeRequestAnswer(project_id, number))
  const options = { since, to, ignoreWhitespace: readStored(...ignoreWhitespace) }
  if (isFilesTab({ tab })) await queries.prefetchQuery(diff(cr, options))
}
