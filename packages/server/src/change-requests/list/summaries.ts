/** What a list shows of each change request, from what the server stores. */
import type { ChangeRequestSummary } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { wantFacts } from '../preview/facts-store.ts'
import { type FoundSummary, summariesOf } from './list-store.ts'
import type { ChangeRequestRow } from '../store.ts'

/** Also asks for the facts that it has to answer without; a later answer has them. */
export async function readSummaries(
  deps: Pick<Deps, 'db'>,
  projectId: string,
  rows: ChangeRequestRow[],
): Promise<Record<string, ChangeRequestSummary>> {
  const found = await summariesOf(
    deps.db,
    projectId,
    rows.map(({ cr_id }) => cr_id),
  )
  const open = new Set(rows.flatMap(({ cr_id, status }) => (status === 'open' ? [cr_id] : [])))
  await wantFacts(
    deps.db,
    found.flatMap(({ cr_id, is_compared }) => (is_compared !== true && open.has(cr_id) ? [cr_id] : [])),
  )
  return Object.fromEntries(found.map((each) => [each.cr_id, present(each)]))
}

/** Files whose change does more than change code. */
const notable = /(^|\/)(svc\.toml|package\.json|Dockerfile)$/

/** The route leaves out the id. */
function present(found: FoundSummary): ChangeRequestSummary {
  const { paths, is_compared, collisions, same_branches, merge_lost_at, merge_lost_server, ...rest } = found
  const touches = paths.find((path) => notable.test(path)) ?? paths[0] ?? null
  const same = same_branches === null ? {} : { same_branches }
  const isLost = merge_lost_at !== null && merge_lost_server !== null
  const lost = isLost ? { merge_lost: { server: merge_lost_server, at: merge_lost_at } } : {}
  return { ...rest, ...same, ...lost, touches, collisions: is_compared === true ? collisions : null }
}
