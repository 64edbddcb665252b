/** The service commits no text that it cannot search for secret values, as it accepts no push with such text. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { commit } from '@svc/git/testing'
import { makeTestApp, projectPath, type TestApp } from '../../test-app.ts'
import { gitText } from '../testing.ts'
import { refuseAddedSecrets } from './edit-rules.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

/** More than a GiB of added text: one blob under many names. */
async function hugeCommit(dir: string, parent: string, blob: string): Promise<string> {
  const tree = Bun.spawn(['git', '-C', dir, 'mktree'], { stdin: 'pipe', stdout: 'pipe' })
  for (let count = 0; count < 68; count++) tree.stdin.write(`100644 blob ${blob}\t${count}.txt\n`)
  await tree.stdin.end()
  const id = (await new Response(tree.stdout).text()).trim()
  return gitText({ dir }, 'commit-tree', '-p', parent, '-m', 'huge', id)
}

test('refuses a commit that is too large to search it for secret values', async () => {
  const { project, repo } = await app.managedProject({ 'big.txt': `${'x'.repeat(16 * 1024 ** 2)}\n` })
  const row = await app.deps.db
    .selectFrom('projects')
    .selectAll()
    .where('project_id', '=', project.project_id)
    .executeTakeFirstOrThrow()
  const blob = await gitText(repo, 'rev-parse', 'main:big.txt')
  const parent = await gitText(repo, 'rev-parse', 'main')
  const small = await commit(repo, 'main', { 'small.txt': 'small\n' })
  const huge = await hugeCommit(repo.dir, parent, blob)
  const { signal } = new AbortController()
  const inspect = (sha: string) =>
    refuseAddedSecrets(app.deps, { project: row, repository: repo, base: 'main', parent, sha, signal })
  // Without a secret there is nothing to search for.
  await inspect(huge)
  await app.request('POST', projectPath(project, 'secrets'), { body: { name: 'KEY', value: 'a-secret-value-4711' } })
  await inspect(small)
  await expect(inspect(huge)).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'This change is too large to search it for secret values.',
  })
}, 120_000)
