import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aProject, ids, startService, svc, temporaryFolder } from '../../testing.ts'

const other = aProject({ project_id: ids.sandbox, slug: 'other', name: 'Other' })

describe('the current project', () => {
  test('takes the project from --project, then SVC_PROJECT_ID, then the link file', async () => {
    await using folder = await temporaryFolder()
    await using service = startService({ listProjects: () => [aProject(), other] })
    await mkdir(join(folder.path, '.svc'))
    await mkdir(join(folder.path, 'deep', 'er'), { recursive: true })
    await writeFile(join(folder.path, '.svc', 'link.json'), JSON.stringify({ project_id: ids.cr }))
    const cwd = join(folder.path, 'deep', 'er')
    await svc(['cr', 'ls', '--project', 'other'], { service, cwd, env: { SVC_PROJECT_ID: ids.project } })
    await svc(['cr', 'ls'], { service, cwd, env: { SVC_PROJECT_ID: ids.project } })
    await svc(['cr', 'ls'], { service, cwd, env: { SVC_PROJECT_ID: 'other' } })
    await svc(['cr', 'ls'], { service, cwd })
    expect(service.of('listChangeRequests').map((request) => request.params.projectId)).toEqual([
      ids.sandbox,
      ids.project,
      ids.sandbox,
      ids.cr,
    ])
  })

  test('finds a slug on a later page, and suggests the nearest slug for an unknown one', async () => {
    await using service = startService({
      listProjects: ({ query }) =>
        query.cursor === 'two'
          ? [other]
          : Response.json([aProject()], { headers: { Link: '</v1/projects?limit=1000&cursor=two>; rel="next"' } }),
    })
    expect((await svc(['projects', 'info', 'other'], { service })).stdout).toContain(ids.sandbox)
    const wrong = await svc(['projects', 'info', 'othr'], { service })
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain('Did you mean other?')
  })

  test('names the home server of a project where there are several, for those who may see it', async () => {
    const answers = { listProjects: () => [other] }
    await using service = startService({ ...answers, getProjectHome: () => ({ server: 'server-2', move: null }) })
    expect((await svc(['projects', 'info', 'other'], { service })).stdout).toMatch(/home server:\s+server-2/)
    await using refused = startService({
      ...answers,
      getProjectHome: () => {
        throw new ServiceError('forbidden', 'Your role here is member.')
      },
    })
    const { code, stdout } = await svc(['projects', 'info', 'other'], { service: refused })
    expect([code, stdout.includes('home server')]).toEqual([0, false])
  })

  test('refuses a slug that several accounts have and lists the ids', async () => {
    const [one, two] = [aProject(), aProject({ project_id: ids.sandbox, account_id: ids.cr })]
    await using service = startService({ listProjects: () => [one, two] })
    const { code, stderr } = await svc(['projects', 'info', one.slug], { service })
    expect(code).toBe(1)
    for (const { project_id } of [one, two]) expect(stderr).toContain(project_id)
  })

  test.each(['{', '[]', '{}', '{"project_id":"../../x"}', '{"project_id":3}'])(
    'refuses the link file %s',
    async (text) => {
      await using folder = await temporaryFolder()
      await using service = startService()
      await mkdir(join(folder.path, '.svc'))
      await writeFile(join(folder.path, '.svc', 'link.json'), text)
      const { code, problem } = await svc(['cr', 'ls', '--json'], { service, cwd: folder.path })
      expect(code).toBe(1)
      expect(problem()).toMatchObject({ code: 'link_broken' })
      expect((await svc(['projects', 'unlink'], { cwd: folder.path })).code).toBe(0)
      expect(await readdir(folder.path)).toEqual([])
    },
  )
})

describe('svc projects', () => {
  test('projects create shows the key that the server created', async () => {
    const made = aProject({ ssh_public_key: 'ssh-ed25519 AAAA svc a' })
    await using service = startService({ createProject: () => made })
    const create = ['projects', 'create', '--repo', 'git@git.example.com:team/a.git', '--ssh-key']
    expect((await svc([...create, 'mine'], { service })).code).toBe(2)
    const { stdout, stderr } = await svc([...create, 'generate'], { service })
    expect(service.of('createProject').map((request) => request.body)).toEqual([
      { repo_url: 'git@git.example.com:team/a.git', git_ssh_key: 'generate' },
    ])
    expect(stdout + stderr).toContain('ssh-ed25519 AAAA svc a')
  })

  test('projects create sends only the given options', async () => {
    await using service = startService()
    await svc(['projects', 'create'], { service })
    await svc(
      [
        'projects',
        'create',
        '--repo',
        'https://git.example.com/a.git',
        '--name',
        'a',
        '--default-branch',
        'trunk',
        '--git-token',
        '-',
      ],
      {
        service,
        stdin: 'secret\n',
      },
    )
    expect(service.of('createProject').map((request) => request.body)).toEqual([
      {},
      { repo_url: 'https://git.example.com/a.git', name: 'a', default_branch: 'trunk', git_token: 'secret' },
    ])
    for (const request of service.of('createProject'))
      expect(request.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('projects create links the folder only with --link', async () => {
    await using folder = await temporaryFolder()
    await using service = startService()
    const first = await svc(['projects', 'create'], { service, cwd: folder.path })
    expect(first.stderr).toContain('svc projects link app')
    expect(await readdir(folder.path)).toEqual([])
    await svc(['projects', 'create', '--link'], { service, cwd: folder.path })
    expect(JSON.parse(await readFile(join(folder.path, '.svc', 'link.json'), 'utf8'))).toEqual({
      project_id: ids.project,
      account_id: ids.account,
      host: new URL(service.url).host,
      host_url: service.url,
    })
  })

  test('projects link asks on a terminal and names the missing argument elsewhere', async () => {
    await using folder = await temporaryFolder()
    await using service = startService({ listProjects: () => [aProject(), other] })
    const without = await svc(['projects', 'link'], { service, cwd: folder.path })
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('svc projects link <id-or-slug>')
    const picked = await svc(['projects', 'link'], {
      service,
      cwd: folder.path,
      terminal: true,
      types: [
        { after: /Which project/, keys: 'oth' },
        { after: /other/, keys: '\r' },
      ],
    })
    expect(picked.code).toBe(0)
    expect(JSON.parse(await readFile(join(folder.path, '.svc', 'link.json'), 'utf8')).project_id).toBe(ids.sandbox)
  })

  test('projects link does not write through a symbolic link in the repository', async () => {
    await using folder = await temporaryFolder()
    await using elsewhere = await temporaryFolder()
    await using service = startService()
    await symlink(elsewhere.path, join(folder.path, '.svc'))
    expect((await svc(['projects', 'link', 'app'], { service, cwd: folder.path })).code).toBe(1)
    expect(await readdir(elsewhere.path)).toEqual([])
  })

  test('projects unlink removes the nearest link file and prints its path', async () => {
    await using folder = await temporaryFolder()
    await using service = startService()
    await svc(['projects', 'link', 'app'], { service, cwd: folder.path })
    await mkdir(join(folder.path, 'below'))
    const { stdout } = await svc(['projects', 'unlink'], { cwd: join(folder.path, 'below') })
    expect(stdout).toContain(join(folder.path, '.svc', 'link.json'))
    expect((await svc(['projects', 'unlink'], { cwd: folder.path })).stderr).toContain('No linked folder found')
  })

  test('projects rm asks on a terminal and requires --yes elsewhere', async () => {
    await using service = startService()
    const without = await svc(['projects', 'rm', 'app'], { service })
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('svc projects rm app --yes')
    const no = await svc(['projects', 'rm', 'app'], {
      service,
      terminal: true,
      types: [{ after: /Delete app/, keys: 'n\r' }],
    })
    expect(no.code).toBe(1)
    expect(service.of('deleteProject')).toEqual([])
    const yes = await svc(['projects', 'rm', 'app'], {
      service,
      terminal: true,
      types: [{ after: /Delete app/, keys: 'y\r' }],
    })
    expect(yes.code).toBe(0)
    expect(service.of('deleteProject')).toHaveLength(1)
    expect(yes.stderr + yes.stdout).toContain(`svc projects restore ${ids.project}`)
  })

  test('projects rm says what stops, and with --purge what is deleted', async () => {
    await using service = startService()
    const asked = async (...flags: string[]) => {
      const { code, stderr, stdout } = await svc(['projects', 'rm', 'app', ...flags], {
        service,
        terminal: true,
        types: [{ after: /app\?/, keys: 'n\r' }],
      })
      expect(code).toBe(1)
      return `${stdout}${stderr}`.replaceAll(/\s+/g, ' ')
    }
    expect(await asked()).toContain('This stops 1 session. It can be restored until ')
    const purge = await asked('--purge')
    expect(purge).toContain("3 sessions (1 with unpushed work), 2 change requests and the server's copy of")
    expect(service.of('deleteProject')).toEqual([])
    expect((await svc(['projects', 'rm', 'app', '--purge', '--yes'], { service })).code).toBe(0)
    expect(service.of('deleteProject')[0]?.query).toEqual({ purge: 'true' })
  })

  test('projects restore finds a deleted project by its former slug', async () => {
    const gone = aProject({ slug: 'gone', project_id: ids.sandbox, deleted_at: '2026-11-01T00:00:00.000Z' })
    await using service = startService({ listProjects: ({ query }) => (query.deleted === 'true' ? [gone] : []) })
    const listed = await svc(['projects', 'ls', '--deleted'], { service })
    expect(listed.stdout).toContain(ids.sandbox)
    expect((await svc(['projects', 'restore', 'gone'], { service })).code).toBe(0)
    expect(service.of('restoreProject')[0]?.params.projectId).toBe(ids.sandbox)
    const unknown = await svc(['projects', 'restore', 'nothing'], { service })
    expect([unknown.code, unknown.stderr.includes('svc projects ls --deleted')]).toEqual([1, true])
  })
})

describe('svc secrets', () => {
  const env = { SVC_PROJECT_ID: ids.project }

  test('secrets ls marks the secrets that svc.toml needs, and what needs them', async () => {
    await using service = startService()
    const { stdout, stderr } = await svc(['secrets', 'ls'], { service, env })
    expect(stdout.split('\n').map((line) => line.split('\t').slice(0, 3).join(' '))).toEqual([
      'DB missing required, app web',
      'HOOK missing trigger on-push',
      'KEY set required',
      'EXTRA not set optional',
      '',
    ])
    expect(stderr).toContain('svc secrets set DB=-')
  })

  test('secrets set keeps every = in a value and never prints the value', async () => {
    await using service = startService()
    const { stdout, stderr } = await svc(['secrets', 'set', 'A=b=c', 'EMPTY=', 'PIPED=-'], {
      service,
      env,
      stdin: 'from\nstdin\n',
    })
    expect(service.of('setSecret').map((request) => request.body)).toEqual([
      { name: 'A', value: 'b=c' },
      { name: 'EMPTY', value: '' },
      { name: 'PIPED', value: 'from\nstdin' },
    ])
    expect(stdout + stderr).not.toContain('b=c')
    expect(stdout + stderr).not.toContain('stdin')
  })

  test.each([[['hunter2']], [['=x']], [['A=-', 'B=-']], [[]]])(
    'secrets set exits with 2 for the arguments %p',
    async (args) => {
      await using service = startService()
      const { code, stderr } = await svc(['secrets', 'set', ...args], { service, env, stdin: 'x' })
      expect(code).toBe(2)
      expect(stderr).not.toContain('hunter2')
      expect(service.received).toEqual([])
    },
  )

  test('secrets unset removes each named secret', async () => {
    await using service = startService()
    expect((await svc(['secrets', 'unset', 'A', 'B'], { service, env })).code).toBe(0)
    expect(service.of('deleteSecret').map((request) => request.params.name)).toEqual(['A', 'B'])
  })
})
