import { expect, test } from 'bun:test'
import { aChangeRequest, ids, sha, startService, svc } from '../../testing.ts'
import { at } from '../../testing/ids.ts'

const summary = {
  ...{ state: null, session: null, author: null, conflicts: [], conflict_count: null, confirm_count: null },
  ...{ checks: null, additions: null, deletions: null, files: null, touches: null, collisions: null },
  ...{ reviews: 0, comments: 0 },
}

test('cr show says that the merge of a change request was lost, and how to merge it again', async () => {
  const cr = aChangeRequest({ status: 'merged', merged_at: at(0), merge_commit_sha: sha('c') })
  const merge_lost = { server: 'server-1', at: at(0) }
  await using service = startService({
    listChangeRequests: () => ({ change_requests: [cr], summaries: { [cr.cr_id]: { ...summary, merge_lost } } }),
  })
  const env = { SVC_PROJECT_ID: ids.project }
  const { stdout, stderr } = await svc(['cr', 'show', '3'], { service, env })
  expect(stdout).toContain('status:   merged')
  expect(stderr).toContain(`Its merge was lost when server-1 was taken over (${at(0)}): main does not have it.`)
  expect(stderr).toContain('To merge it again: svc cr open --head greeting --base main --fill')
  const json = await svc(['cr', 'show', '3', '--json'], { service, env })
  expect(JSON.parse(json.stdout)).toMatchObject({ merge_lost })
})
