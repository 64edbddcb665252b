/** Projects whose address the settings refuse, as after a move to a database of one's own, which changes defaults. */
import { count } from '@svc/contract/count'
import { type Finding, weak } from '@svc/sandbox'
import { firstAccountOf } from '../accounts/store.ts'
import type { Deps } from '../deps.ts'
import { type ClosedBy, closedBySettings } from '../projects/hosts/judge-address.ts'
import { listOf } from './lost-repositories.ts'
import { addressesOfProjects } from './store.ts'

const mends: Record<ClosedBy, string> = {
  SVC_FILE_REPOSITORY_ROOTS:
    'Set SVC_FILE_REPOSITORY_ROOTS to the folders of these repositories, separated by colons, and restart the server.',
  SVC_ALLOW_PRIVATE_GIT_HOSTS: 'Set SVC_ALLOW_PRIVATE_GIT_HOSTS=true if you trust these hosts, and restart the server.',
}

export async function examineAddresses(deps: Pick<Deps, 'config' | 'db'>): Promise<Finding[]> {
  const firstAccount = firstAccountOf(deps.db)
  const groups = Map.groupBy(await addressesOfProjects(deps.db), placeOf)
  const closed = await Promise.all(
    [...groups.values()].map(async (projects) => {
      const { repo_url: url, account_id: accountId } = projects[0]!
      const by = await closedBySettings(deps, { url, accountId, firstAccount })
      return { by, slugs: projects.map(({ slug }) => slug) }
    }),
  )
  return Object.entries(mends).flatMap(([setting, mend]) => {
    const slugs = closed.flatMap((each) => (each.by === setting ? each.slugs : [])).toSorted()
    if (slugs.length === 0) return []
    const have = slugs.length === 1 ? 'has' : 'have'
    const says = `${count(slugs.length, 'project')} ${have} an address that the settings refuse, so requests for the repository fail: ${listOf(slugs)}`
    return [weak('addresses', says, mend)]
  })
}

/** Projects of one account on one host are judged together. Each file is its own. */
function placeOf({ repo_url, account_id }: { repo_url: string; account_id: string }): string {
  const url = new URL(repo_url)
  return url.protocol === 'file:' ? repo_url : `${account_id} ${url.protocol}//${url.host}`
}
