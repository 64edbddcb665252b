import { describe, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import { git } from '../git/git.ts'
import { aChangeRequest, aProject, type Answers, ids, svc, temporaryFolder, token, usual } from '../testing.ts'
import { type GatewayService, startGateway } from '../testing/gateway.ts'

const clean = { GIT_CONFIG_GLOBAL: '/dev/null' }
const identity = ['-c', 'user.name=t', '-c', 'user.email=t@svc.invalid']
const run = (path: string, ...args: string[]) => git(path, [...identity, ...args], { ...process.env, ...clean })
const tip = async (path: string, ref = 'HEAD') => (await run(path, 'rev-parse', ref)).trim()

async function commit(path: string, name: string): Promise<string> {
  await writeFile(join(path, `${name}.txt`), name)
  await run(path, 'add', `${name}.txt`)
  await run(path, 'commit', '--quiet', `--message=${name}`)
  return tip(path)
}

async function repository(): Promise<Awaited<ReturnType<typeof temporaryFolder>>> {
  const folder = await temporaryFolder()
  await run(folder.path, 'init', '--quiet', '--initial-branch=main')
  return folder
}

const managed = () => aProject({ managed: true })

/** Merges by fast-forwarding the repository behind the gateway, as the service does. */
async function shipService(answers: Answers = {}): Promise<GatewayService> {
  let cr = aChangeRequest()
  const service: GatewayService = await startGateway({
    createProject: managed,
    getProject: managed,
    listChangeRequests: () => ({ change_requests: [] }),
    async openChangeRequest({ body }) {
      const { session_id, ...rest } = body as { session_id?: string; head_ref: string }
      const head_commit_sha = await tip(service.repository, `refs/heads/${rest.head_ref}`)
      return (cr = aChangeRequest({ ...rest, head_commit_sha, origin_session_id: session_id ?? null }))
    },
    async mergeChangeRequest() {
      const before = await tip(service.repository, 'refs/heads/main')
      await run(service.repository, 'update-ref', 'refs/heads/main', cr.head_commit_sha!)
      const merge = { merge_commit_sha: cr.head_commit_sha, fast_forward: true, up_to_date: false }
      return {
        change_request: { ...cr, status: 'merged' },
        merge: { ...merge, base_sha_before: before, base_sha_after: cr.head_commit_sha },
      }
    },
    ...answers,
  })
  return service
}

describe('svc ship', () => {
  test('svc ship creates, links and fills a project, then opens and merges change requests with the same commit ids', async () => {
    await using service = await shipService()
    await using folder = await repository()
    const first = await commit(folder.path, 'one')
    const ran = await svc(['ship'], { service, cwd: folder.path })
    expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 })
    expect(service.of('createProject')[0]!.body).toEqual({ name: basename(folder.path), default_branch: 'main' })
    const link = JSON.parse(await readFile(join(folder.path, '.svc', 'link.json'), 'utf8')) as object
    expect(link).toMatchObject({ project_id: ids.project, host_url: service.url })
    expect(await tip(service.repository, 'refs/heads/main')).toBe(first)
    expect(service.of('openChangeRequest')).toEqual([])
    expect(ran.stderr).toContain('Pushing')
    expect(ran.stderr).not.toContain('No model')

    await commit(folder.path, 'two')
    const third = await commit(folder.path, 'three')
    const again = await svc(['deploy'], { service, cwd: folder.path })
    expect({ code: again.code, stderr: again.stderr }).toMatchObject({ code: 0 })
    expect(service.of('createProject')).toHaveLength(1)
    const ref = `ship-${third.slice(0, 7)}`
    expect(await tip(service.repository, `refs/heads/${ref}`)).toBe(third)
    expect(service.of('openChangeRequest')[0]!.body).toEqual({
      title: 'three',
      head_ref: ref,
      base_ref: 'main',
      description: '- three\n- two',
    })
    expect(service.of('mergeChangeRequest')[0]!.body).toEqual({ expected_head_sha: third })
    expect(await tip(service.repository, 'refs/heads/main')).toBe(third)
    expect(again.stdout).toContain('fast-forwarded')
    // The link file of the first run is not a change of the user.
    expect(again.stderr).not.toContain('not committed')
    expect(ran.stdout + ran.stderr + again.stdout + again.stderr).not.toContain(token)

    const nothing = await svc(['ship', '--json'], { service, cwd: folder.path })
    expect([nothing.code, nothing.problem().code]).toEqual([1, 'nothing_to_push'])
  })

  test.each(['app', ids.project])('svc ship in a clone of the project %s ships to that project', async (named) => {
    await using service = await shipService({ listProjects: () => [managed()] })
    await using folder = await repository()
    const first = await commit(folder.path, 'one')
    const remote = `http://ada:secret@${new URL(service.url).host}/v1/projects/${named}/git`
    await run(folder.path, 'remote', 'add', 'origin', remote)
    const { code, stderr } = await svc(['ship'], { service, cwd: folder.path })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(service.of('createProject')).toEqual([])
    expect(await tip(service.repository, 'refs/heads/main')).toBe(first)
  })

  test.each(['app', ids.project])(
    'svc ship creates no other project in a clone of the lost project %s',
    async (named) => {
      await using service = await shipService({
        listProjects: () => [],
        getProject() {
          throw new ServiceError('not_found', 'There is no such project.')
        },
      })
      await using folder = await repository()
      await commit(folder.path, 'one')
      await run(folder.path, 'remote', 'add', 'origin', `${service.url}/v1/projects/${named}/git`)
      expect((await svc(['ship', '--json'], { service, cwd: folder.path })).problem()).toMatchObject({
        error: `The remote origin of this clone is the project ${named}, and you have no such project`,
        code: 'not_found',
      })
      expect(service.of('createProject')).toEqual([])
    },
  )

  test('svc ship in a clone of two projects ships to that of the remote to which the branch pushes, and names it', async () => {
    const app = aProject({ project_id: ids.sandbox, slug: 'app', managed: true })
    const lib = aProject({ slug: 'lib', managed: true })
    await using service = await shipService({ listProjects: () => [app, lib], getProject: () => lib })
    await using folder = await repository()
    const first = await commit(folder.path, 'one')
    for (const [name, slug] of [
      ['upstream', 'app'],
      ['origin', 'lib'],
    ] as const)
      await run(folder.path, 'remote', 'add', name, `${service.url}/v1/projects/${slug}/git`)
    const ship = () => svc(['ship'], { service, cwd: folder.path })
    expect((await ship()).stderr).toContain('upstream is app, origin is lib')
    expect(service.pushes).toEqual([])
    await run(folder.path, 'config', 'branch.main.remote', 'origin')
    expect(await ship()).toMatchObject({ code: 0, stderr: expect.stringContaining('to main of lib') })
    expect(await tip(service.repository, 'refs/heads/main')).toBe(first)
    await commit(folder.path, 'two')
    const { stdout } = await ship()
    expect(stdout).toContain('Merged #3 two in lib: main fast-forwarded to')
    expect(service.of('mergeChangeRequest')[0]!.params.projectId).toBe(ids.project)
  })

  test('svc ship --no-merge leaves the change request open, and the next run continues it', async () => {
    let open: ReturnType<typeof aChangeRequest>[] = []
    await using service = await shipService({ listChangeRequests: () => ({ change_requests: open }) })
    await using folder = await repository()
    await commit(folder.path, 'one')
    const env = { SVC_PROJECT_ID: ids.project }
    await svc(['ship'], { service, env, cwd: folder.path })
    const head = await commit(folder.path, 'two')
    const args = ['ship', '--no-merge', '--title', 'Add two']
    const { stdout, stderr } = await svc(args, { service, env, cwd: folder.path })
    expect(stdout).toContain('Proposed #3 Add two in app: ')
    expect(stderr).toContain('Merge it: svc cr merge 3')
    expect(service.of('mergeChangeRequest')).toEqual([])
    open = [aChangeRequest({ head_ref: `ship-${head.slice(0, 7)}`, head_commit_sha: head })]
    const asJson = (await svc(['ship', '--json'], { service, env, cwd: folder.path })).json<object>()
    expect(asJson).toMatchObject({ created: false, sha: head, merge: { fast_forward: true } })
    expect(service.of('openChangeRequest')).toHaveLength(1)
    expect(service.of('createProject')).toEqual([])
  })

  test("svc ship with an agent's token pushes the session branch and merges nothing", async () => {
    await using service = await shipService({
      whoAmI: () => ({
        kind: 'project',
        token_id: null,
        user: { user_id: ids.user, name: 'Ada', email: null },
        account: { account_id: ids.account, name: 'Home' },
        project_id: ids.project,
        session_id: ids.session,
        expires_at: null,
      }),
    })
    await using folder = await repository()
    const first = await commit(folder.path, 'one')
    await run(folder.path, 'push', '--quiet', service.repository, 'main')
    const head = await commit(folder.path, 'two')
    const env = { SVC_PROJECT_ID: ids.project }
    const { code, stderr } = await svc(['ship'], { service, env, cwd: folder.path })
    expect(code).toBe(0)
    expect(stderr).toContain('Only a user can merge: svc cr merge 3')
    expect(await tip(service.repository, `refs/heads/${ids.session}`)).toBe(head)
    expect(await tip(service.repository, 'refs/heads/main')).toBe(first)
    expect(service.of('openChangeRequest')[0]!.body).toMatchObject({ head_ref: ids.session, session_id: ids.session })
    expect(service.of('mergeChangeRequest')).toEqual([])
  })

  test('svc ship leaves the change request open when it conflicts and prints the steps to resolve it', async () => {
    await using service = await shipService({
      mergeChangeRequest: () => {
        throw new ServiceError('merge_conflict', 'Merge failed', { detail: { conflicts: ['a.txt'] } })
      },
    })
    await using folder = await repository()
    await commit(folder.path, 'one')
    await run(folder.path, 'push', '--quiet', service.repository, 'main')
    await commit(folder.path, 'two')
    const { code, stderr } = await svc(['ship'], { service, env: { SVC_PROJECT_ID: ids.project }, cwd: folder.path })
    expect(code).toBe(1)
    expect(stderr).toContain('conflict: a.txt')
    expect(stderr).toContain('#3 stays open')
  })

  test('svc ship fetches commits from elsewhere before it decides which ones are new', async () => {
    await using service = await shipService()
    await using folder = await repository()
    await using other = await temporaryFolder()
    await commit(folder.path, 'one')
    await run(folder.path, 'push', '--quiet', service.repository, 'main')
    await run(other.path, 'clone', '--quiet', '--branch=main', service.repository, 'clone')
    const elsewhere = join(other.path, 'clone')
    await commit(elsewhere, 'theirs')
    await run(elsewhere, 'push', '--quiet', 'origin', 'main')
    const env = { SVC_PROJECT_ID: ids.project }
    const behind = await svc(['ship', '--json'], { service, env, cwd: folder.path })
    expect(behind.problem().code).toBe('nothing_to_push')
    await commit(folder.path, 'mine')
    expect((await svc(['ship', '--no-merge'], { service, env, cwd: folder.path })).code).toBe(0)
    expect(service.of('openChangeRequest')[0]!.body).toMatchObject({ title: 'mine' })
    expect(service.of('openChangeRequest')[0]!.body).not.toHaveProperty('description')
  })

  test('svc ship reports errors before it creates anything', async () => {
    await using service = await shipService()
    await using folder = await temporaryFolder()
    const ship = () => svc(['ship'], { service, cwd: folder.path })
    expect((await ship()).stderr).toContain('not in a git repository')
    await run(folder.path, 'init', '--quiet', '--initial-branch=main')
    expect((await ship()).stderr).toContain('has no commits yet')
    await commit(folder.path, 'one')
    await run(folder.path, 'switch', '--quiet', '--detach')
    expect((await ship()).stderr).toContain('HEAD is detached')
    expect(service.received).toEqual([])
    await run(folder.path, 'switch', '--quiet', 'main')
    await writeFile(join(folder.path, 'one.txt'), 'changed')
    await writeFile(join(folder.path, 'new.txt'), 'new')
    const dirty = await ship()
    expect([dirty.code, dirty.stderr.includes('2 changes are not committed')]).toEqual([0, true])
  })

  test('svc ship works in a shallow clone of the project, and elsewhere says how to fetch the rest', async () => {
    await using service = await shipService()
    await using origin = await repository()
    await using folder = await temporaryFolder()
    for (const name of ['one', 'two', 'three']) await commit(origin.path, name)
    const from = `file://${origin.path}`
    await run(folder.path, 'clone', '--quiet', '--depth=1', from, 'clone')
    const cwd = join(folder.path, 'clone')
    const refused = async (env = {}) => (await svc(['ship', '--json'], { service, env, cwd })).problem()
    const next = ['git fetch --unshallow', 'svc ship']
    expect(await refused()).toMatchObject({ code: 'git_failed', next })
    expect(service.of('createProject')).toEqual([])
    const env = { SVC_PROJECT_ID: ids.project }
    expect(await refused(env)).toMatchObject({ error: expect.stringContaining('an empty project'), next })
    // A project that has only an earlier commit.
    await run(origin.path, 'push', '--quiet', service.repository, 'main~2:refs/heads/main')
    await commit(cwd, 'mine')
    expect(await refused(env)).toMatchObject({ error: expect.stringContaining('that it shares with main'), next })
    await run(origin.path, 'push', '--quiet', service.repository, 'main')
    const { code, stderr } = await svc(['ship'], { service, env, cwd })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(await tip(service.repository, 'refs/heads/main')).toBe(await tip(cwd))
  })

  test('svc ship says that no agent can work yet on a server without a model', async () => {
    const ready = usual.getReady as () => object
    await using service = await shipService({ getReady: () => ({ ...ready(), model: 'none' }) })
    await using folder = await repository()
    await commit(folder.path, 'one')
    const { code, stderr } = await svc(['ship'], { service, cwd: folder.path })
    expect([code, stderr]).toEqual([0, expect.stringContaining('Its owner sets one: svc models set')])
  })

  test('svc ship refuses a repository with SHA-256 objects before it creates a project', async () => {
    await using service = await shipService()
    await using folder = await temporaryFolder()
    await run(folder.path, 'init', '--quiet', '--object-format=sha256', '--initial-branch=main')
    await commit(folder.path, 'one')
    const ran = await svc(['ship'], { service, cwd: folder.path })
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('has SHA-256 objects, and projects have SHA-1')])
    expect(ran.stderr).toContain(`git -C ${folder.path} fast-export --all | git fast-import`)
    expect(service.of('createProject')).toEqual([])
  })

  test('svc ship shows the reason of a refused push once', async () => {
    await using service = await shipService()
    await using folder = await repository()
    await commit(folder.path, 'one')
    // The gateway, too, gives its reason both in a line and for the ref.
    const hook = join(service.repository, 'hooks/pre-receive')
    await writeFile(hook, '#!/bin/sh\necho "pre-receive hook declined" >&2\nexit 1\n', { mode: 0o755 })
    const { code, stderr } = await svc(['ship'], { service, cwd: folder.path })
    expect([code, stderr.match(/pre-receive hook declined/g)?.length]).toEqual([1, 1])
    await writeFile(hook, '#!/bin/sh\necho "The branch is protected." >&2\nexit 1\n')
    const { stderr: both } = await svc(['ship'], { service, cwd: folder.path })
    expect(both).toMatch(/remote: The branch is protected\. .*\(pre-receive hook declined\)/)
  })

  test('svc ship refuses to push to a project with another history', async () => {
    await using service = await shipService()
    await using folder = await repository()
    await using other = await repository()
    await commit(other.path, 'theirs')
    await run(other.path, 'push', '--quiet', service.repository, 'main')
    await commit(folder.path, 'mine')
    const env = { SVC_PROJECT_ID: ids.project }
    const { code, stderr } = await svc(['ship'], { service, env, cwd: folder.path })
    expect(code).toBe(1)
    expect(stderr).toContain('share no history')
    expect([stderr.includes('Name another one with --project'), stderr.includes('unlink')]).toEqual([true, false])
    expect(service.of('openChangeRequest')).toEqual([])
  })
})
