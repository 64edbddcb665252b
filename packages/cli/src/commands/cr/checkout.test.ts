import { describe, expect, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from '../../git/git.ts'
import { aChangeRequest, ids, svc, temporaryFolder, token } from '../../testing.ts'
import { type GatewayService, startGateway } from '../../testing/gateway.ts'

const env = { SVC_PROJECT_ID: ids.project, GIT_CONFIG_GLOBAL: '/dev/null' }
const identity = ['-c', 'user.name=t', '-c', 'user.email=t@svc.invalid']
const run = (path: string, ...args: string[]) => git(path, [...identity, ...args], { ...process.env, ...env })
const tip = async (path: string, ref = 'HEAD') => (await run(path, 'rev-parse', ref)).trim()

/** A clone with one commit on main, and a project with one more on `head`. */
async function cloneOf(service: GatewayService, path: string, head: string): Promise<string> {
  await run(path, 'init', '--quiet', '--initial-branch=main')
  await run(path, 'commit', '--quiet', '--allow-empty', '--message=first')
  await run(path, 'push', '--quiet', service.repository, 'main')
  return addCommit(service, head)
}

async function addCommit(service: GatewayService, head: string): Promise<string> {
  const ref = `refs/heads/${head}`
  const parent = (await run(service.repository, 'for-each-ref', '--format=%(objectname)', ref)).trim()
  const from = parent === '' ? await tip(service.repository, 'refs/heads/main') : parent
  const commit = ['commit-tree', '-p', from, '-m', 'work', `${from}^{tree}`]
  const sha = (await run(service.repository, ...commit)).trim()
  await run(service.repository, 'update-ref', ref, sha)
  return sha
}

describe('svc cr checkout', () => {
  test('cr checkout fetches the head branch, switches to it, and updates it the next time', async () => {
    await using service = await startGateway()
    await using folder = await temporaryFolder()
    const first = await cloneOf(service, folder.path, 'greeting')
    const ran = await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })
    expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 })
    expect(ran.stdout).toContain('On greeting at')
    expect([await tip(folder.path), await run(folder.path, 'branch', '--show-current')]).toEqual([first, 'greeting\n'])

    const second = await addCommit(service, 'greeting')
    expect((await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })).code).toBe(0)
    await run(folder.path, 'switch', '--quiet', 'main')
    const third = await addCommit(service, 'greeting')
    const asJson = await svc(['cr', 'checkout', '3', '--json'], { service, env, cwd: folder.path })
    expect(asJson.json<object>()).toMatchObject({ branch: 'greeting', sha: third })
    expect([await tip(folder.path), await tip(folder.path, 'HEAD~1')]).toEqual([third, second])
  })

  test('cr checkout writes the token into no file and no argument', async () => {
    await using service = await startGateway()
    await using folder = await temporaryFolder()
    await cloneOf(service, folder.path, 'greeting')
    // A credential helper of the user that would store the token.
    const stored = join(folder.path, '.git', 'stored')
    await run(folder.path, 'config', 'credential.helper', `store --file=${stored}`)
    const trace = join(folder.path, '.git', 'trace')
    const traced = { ...env, GIT_TRACE: trace, GIT_CURL_VERBOSE: '1' }
    const ran = await svc(['cr', 'checkout', '3'], { service, env: traced, cwd: folder.path })
    expect(ran.code).toBe(0)
    const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
    expect(service.pushes.length).toBeGreaterThan(0)
    for (const push of service.pushes) expect(push.headers.get('authorization')).toBe(`Basic ${basic}`)
    expect(await readFile(trace, 'utf8')).toContain('fetch')
    expect(ran.stdout + ran.stderr).not.toContain(token)
    for (const file of await readdir(folder.path, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue
      const text = await readFile(join(file.parentPath, file.name), 'latin1')
      expect([file.name, text.includes(token), text.includes(basic)]).toEqual([file.name, false, false])
    }
  })

  test('cr checkout never drops commits of a local branch with the same name', async () => {
    await using service = await startGateway()
    await using folder = await temporaryFolder()
    await cloneOf(service, folder.path, 'greeting')
    await run(folder.path, 'switch', '--quiet', '--create', 'greeting')
    await run(folder.path, 'commit', '--quiet', '--allow-empty', '--message=mine')
    const mine = await tip(folder.path)
    await run(folder.path, 'switch', '--quiet', 'main')
    const refused = await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('has commits that #3 lacks')
    expect([await tip(folder.path, 'greeting'), await run(folder.path, 'branch', '--show-current')]).toEqual([
      mine,
      'main\n',
    ])
    expect((await svc(['cr', 'checkout', '3', '--branch', 'cr-3'], { service, env, cwd: folder.path })).code).toBe(0)

    // Being ahead is no reason to refuse.
    await run(folder.path, 'commit', '--quiet', '--allow-empty', '--message=more')
    const ahead = await tip(folder.path)
    const again = await svc(['cr', 'checkout', '3', '--branch', 'cr-3'], { service, env, cwd: folder.path })
    expect([again.code, await tip(folder.path)]).toEqual([0, ahead])
    expect(again.stderr).toContain('ahead of #3')
  })

  test("cr checkout stops with git's message when it would overwrite changes", async () => {
    await using service = await startGateway()
    await using folder = await temporaryFolder()
    await cloneOf(service, folder.path, 'other')
    await writeFile(join(folder.path, 'a.txt'), 'theirs\n')
    await run(folder.path, 'add', 'a.txt')
    await run(folder.path, 'commit', '--quiet', '--message=a')
    await run(folder.path, 'push', '--quiet', service.repository, 'HEAD:refs/heads/greeting')
    await run(folder.path, 'switch', '--quiet', '--create', 'here', 'HEAD~1')
    await writeFile(join(folder.path, 'a.txt'), 'mine\n')
    const { code, stderr } = await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })
    expect(code).toBe(1)
    expect(stderr).toContain('would be overwritten')
    expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe('mine\n')
  })

  test.each(['-x', 'HEAD', 'a'.repeat(40)])('cr checkout gives the branch %s a safe local name', async (head_ref) => {
    await using service = await startGateway({
      listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref })] }),
    })
    await using folder = await temporaryFolder()
    const sha = await cloneOf(service, folder.path, head_ref)
    expect((await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })).code).toBe(0)
    expect([await tip(folder.path), await run(folder.path, 'branch', '--show-current')]).toEqual([sha, 'cr-3\n'])
  })

  test('cr checkout says what is missing', async () => {
    await using service = await startGateway()
    await using folder = await temporaryFolder()
    const outside = await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })
    expect([outside.code, service.received]).toEqual([1, []])
    expect(outside.stderr).toContain('not in a git repository')
    await cloneOf(service, folder.path, 'other')
    const gone = await svc(['cr', 'checkout', '3'], { service, env, cwd: folder.path })
    expect(gone.code).toBe(1)
    expect(gone.stderr).toContain('The branch greeting no longer exists')
  })
})
