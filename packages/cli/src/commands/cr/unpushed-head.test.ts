/** A branch that exists only in a clone: the suggested commands work. */
import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { git } from '../../git/git.ts'
import { ids, startService, svc, temporaryFolder } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

/** A clone on the branch `work`, which the service does not have. */
async function cloneOnWork(remote: boolean) {
  const folder = await temporaryFolder()
  await git(folder.path, ['init', '--quiet', '--initial-branch=main'], process.env)
  const as = ['-c', 'user.name=a', '-c', 'user.email=a@example.test', 'commit', '--quiet', '--allow-empty']
  await git(folder.path, [...as, '--message', 'First'], process.env)
  await git(folder.path, ['switch', '--quiet', '--create', 'work'], process.env)
  if (remote) await git(folder.path, ['remote', 'add', 'origin', 'https://git.example.test/a/b'], process.env)
  return folder
}
function withoutBranch() {
  const refuse = () => {
    throw new ServiceError('ref_not_found', 'The repository has no branch "work".', { detail: { ref: 'work' } })
  }
  return startService({
    openChangeRequest: refuse,
    compareRefs: refuse,
    listCommits: refuse,
    listChangeRequests: () => ({ change_requests: [] }),
  })
}
const open = ['cr', 'open', '--head', 'work']

describe('a branch that exists only in this clone', () => {
  test.each([[[...open, '--title', 't']], [[...open, '--fill']], [['cr', 'show', 'work']], [['cr', 'show', '@']]])(
    'suggests to push the branch first: svc %p',
    async (args) => {
      await using service = withoutBranch()
      await using folder = await cloneOnWork(true)
      const ran = await svc(args, { service, env, cwd: folder.path })
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('$ git push origin HEAD')])
      expect(ran.stderr).not.toContain('svc cr open')
      await git(folder.path, ['switch', '--quiet', 'main'], process.env)
      if (args.includes('@')) return
      expect((await svc(args, { service, env, cwd: folder.path })).stderr).toContain('$ git push origin work')
    },
  )

  test('suggests the remote to which the branch pushes', async () => {
    await using service = withoutBranch()
    await using folder = await cloneOnWork(true)
    const suggested = async () => (await svc([...open, '--title', 't'], { service, env, cwd: folder.path })).stderr
    await git(folder.path, ['remote', 'add', 'fork', 'https://git.example.test/c/b'], process.env)
    await git(folder.path, ['config', 'branch.work.pushRemote', 'fork'], process.env)
    expect(await suggested()).toContain('$ git push fork HEAD')
    // A branch that follows a local one.
    await git(folder.path, ['config', '--unset', 'branch.work.pushRemote'], process.env)
    await git(folder.path, ['config', 'branch.work.remote', '.'], process.env)
    expect(await suggested()).toContain('$ git push origin HEAD')
  })

  test('suggests svc ship when the clone has no remote', async () => {
    await using service = withoutBranch()
    await using folder = await cloneOnWork(false)
    const { problem } = await svc([...open, '--title', 't', '--json'], { service, env, cwd: folder.path })
    expect(problem()).toMatchObject({ code: 'ref_not_found', next: ['svc ship --no-merge'] })
    await git(folder.path, ['switch', '--quiet', 'main'], process.env)
    const elsewhere = await svc([...open, '--title', 't', '--json'], { service, env, cwd: folder.path })
    expect(elsewhere.problem()).toMatchObject({ next: ['git switch work', 'svc ship --no-merge'] })
  })
})

test('suggests neither a push nor a change request for a branch that does not exist', async () => {
  await using service = withoutBranch()
  await using folder = await temporaryFolder()
  for (const args of [
    [...open, '--title', 't'],
    ['cr', 'show', 'work'],
  ]) {
    const { stderr } = await svc(args, { service, env, cwd: folder.path })
    expect(stderr).toContain('Check its name.\n  $ svc branches ls')
    expect(stderr).not.toMatch(/git push|svc cr open/)
  }
})
