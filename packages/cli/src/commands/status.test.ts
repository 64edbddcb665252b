import { expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { aChangeRequest, aProject, aSession, cleanPreview, ids, startService, svc } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const uuid = (n: number) => `aaaaaaaa-aaaa-4aaa-8aaa-00000000000${n}`
const previews: Record<string, object> = {
  [uuid(1)]: cleanPreview,
  [uuid(2)]: { ...cleanPreview, can_merge: false, can_fast_forward: false, conflicts: ['a.txt', 'b.txt'] },
  [uuid(3)]: { ...cleanPreview, is_up_to_date: true },
}
const busy = () =>
  startService({
    listChangeRequests: () => ({
      change_requests: [1, 2, 3].map((n) => aChangeRequest({ cr_id: uuid(n), number: n, title: `Change ${n}` })),
    }),
    previewChangeRequest: ({ params }) => previews[params.crId!],
    listSessions: ({ query }) =>
      query.status === 'failed'
        ? [aSession({ status: 'failed', name: 'Broken', error: 'bubblewrap is missing' })]
        : query.status === 'running'
          ? [aSession(), aSession({ session_id: uuid(4), name: 'Asks', waiting_for: 'person' })]
          : [],
  })

test('svc status shows what needs the user, what is running, and the next command', async () => {
  await using service = busy()
  const { code, stdout, stderr } = await svc(['status', '--no-color'], { service, env, terminal: true })
  expect(code).toBe(0)
  expect(stdout).toBe(`app
  Waiting for you
     aaaaaaaa  Asks  svc sessions answer aaaaaaaa
  Clean to merge
     #1  Change 1  fast-forward
  In conflict
     #2  Change 2  2 files
  Nothing to merge yet
     #3  Change 3
  Failed
     44444444  Broken  bubblewrap is missing
  Running
     44444444  Fix the test  active 1 minute ago
`)
  expect(stderr).toContain('svc cr diff 1 · svc cr merge 1')
})

test('svc status prints rows or one JSON document for programs', async () => {
  await using service = busy()
  const rows = (await svc(['status'], { service, env })).stdout.split('\n').map((line) => line.split('\t')[0])
  expect(rows).toEqual(['clean', 'conflicted', 'nothing-to-merge', 'waiting-for-you', 'failed', 'running', ''])
  const { projects } = (await svc(['status', '--json'], { service, env })).json<{
    projects: { slug: string; clean: { change_request: { number: number } }[]; conflicted: unknown[] }[]
  }>()
  expect(projects).toMatchObject([
    { slug: 'app', clean: [{ change_request: { number: 1 } }], waiting_for_you: [{}], running: [{}, {}] },
  ] as never)
})

test('svc status covers all projects without a current one and names each in its commands', async () => {
  await using service = startService({
    listProjects: () => [aProject(), aProject({ project_id: ids.sandbox, slug: 'quiet' })],
    listChangeRequests: ({ params }) => ({
      change_requests: params.projectId === ids.project ? [aChangeRequest()] : [],
    }),
    listSessions: () => [],
  })
  const { code, stdout, stderr } = await svc(['status', '--no-color'], { service, terminal: true })
  expect(code).toBe(0)
  expect(stdout).toContain('app\n  Clean to merge')
  expect(stdout).not.toContain('quiet')
  expect(stderr).toContain('svc cr merge 3 --project app')
})

test('svc status says when nothing needs attention, and shows a viewer what they may see', async () => {
  await using service = startService({
    listChangeRequests: () => {
      throw new ServiceError('forbidden', 'Your role here is viewer')
    },
    listSessions: () => [],
  })
  const { code, stderr } = await svc(['status'], { service, env, terminal: true })
  expect(code).toBe(0)
  expect(stderr).toContain('Nothing needs your attention and nothing is running.')
})
