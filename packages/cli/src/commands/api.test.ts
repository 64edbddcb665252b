import { describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aProject, ids, startService, svc, temporaryFolder, token } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

describe('svc api', () => {
  test.each(['/v1/projects', 'projects', '/projects', 'v1/projects'])(
    'svc api accepts the route as %s',
    async (route) => {
      await using service = startService()
      const { code, json } = await svc(['api', route], { service })
      expect([code, json<{ slug: string }[]>()[0]!.slug]).toEqual([0, 'app'])
      expect(service.received[0]).toMatchObject({ method: 'GET', path: '/v1/projects' })
    },
  )

  test('svc api sends fields as a typed or text body, and those of a GET in the query', async () => {
    await using service = startService()
    const path = 'projects/{project}/change-requests'
    await svc(['api', path, '-f', 'title=1', '-F', 'head_ref=work', '-F', 'metadata=null', '-f', 'description=a=b'], {
      service,
      env,
    })
    const [sent] = service.of('openChangeRequest')
    expect(sent?.body ?? service.received[0]!.body).toEqual({
      title: '1',
      head_ref: 'work',
      metadata: null,
      description: 'a=b',
    })
    await svc(['api', path, '-X', 'get', '-f', 'status=all'], { service, env })
    expect(service.of('listChangeRequests')[0]!.query).toEqual({ status: 'all' })
  })

  test('svc api reads the body from stdin or a file and adds the fields to it', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'body.json'), '{"title":"From a file"}')
    const path = `/v1/projects/${ids.project}/change-requests/${ids.cr}`
    await svc(['api', path, '-X', 'PATCH', '--input', '-'], { service, stdin: '{"title":"From stdin"}' })
    await svc(['api', path, '-X', 'PATCH', '--input', 'body.json', '-f', 'description=x'], {
      service,
      cwd: folder.path,
    })
    expect(service.of('editChangeRequest').map(({ body }) => body)).toEqual([
      { title: 'From stdin' },
      { title: 'From a file', description: 'x' },
    ])
    expect((await svc(['api', path, '-X', 'PATCH', '--input', '-'], { service, stdin: '[' })).code).toBe(2)
  })

  test('svc api --paginate follows a list to its end', async () => {
    await using service = startService({
      listProjects: ({ query }) =>
        query.cursor === 'two'
          ? [aProject({ slug: 'last' })]
          : Response.json([aProject()], { headers: { Link: '</v1/projects?cursor=two>; rel="next"' } }),
    })
    const { stdout } = await svc(['api', 'projects', '--paginate', '--jq', '.[].slug'], { service })
    expect(stdout).toBe('app\nlast\n')
  })

  test.each(['https://evil.example.com/v1/projects', '//evil.example.com/v1', 'http:evil', '/\\evil', '/v1/a b'])(
    'svc api refuses the route %s, so the token stays with its host',
    async (route) => {
      await using service = startService()
      expect(await svc(['api', route], { service })).toMatchObject({ code: 2 })
      expect(service.received).toEqual([])
    },
  )

  test('svc api sends no token to a next page on another host', async () => {
    await using other = startService()
    await using service = startService({
      listProjects: () => Response.json([aProject()], { headers: { Link: `<${other.url}/v1/projects>; rel="next"` } }),
    })
    expect((await svc(['api', '@127.0.0.1:1/v1/projects'], { service })).code).toBe(1)
    expect((await svc(['api', 'projects', '--paginate'], { service })).code).toBe(0)
    expect(other.received).toEqual([])
    for (const { headers } of service.received) expect(headers.get('authorization')).toBe(`Bearer ${token}`)
  })

  test("svc api prints the service's refusal, and a reply that is not JSON unchanged", async () => {
    await using service = startService({ diffChangeRequest: () => new Response('diff --git a b\n') })
    const refused = await svc(['api', '/v1/nothing', '--json'], { service })
    expect(refused.problem()).toMatchObject({ code: 'not_found', error: 'No such route' })
    const diff = await svc(['api', `/v1/projects/${ids.project}/change-requests/${ids.cr}/diff`], { service })
    expect(diff.stdout).toBe('diff --git a b\n')
  })
})

test('svc alias sets, runs with arguments, lists and removes an alias', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const options = { service, env: { ...env, SVC_CONFIG_FILE: join(folder.path, 'config.json') } }
  const run = (...args: string[]) => svc(args, options)
  expect((await run('alias', 'set', 'names', 'cr diff --name-only')).code).toBe(0)
  expect((await run('alias', 'set', 'into', "cr ls --base $1 --search 'a b'")).code).toBe(0)
  expect((await run('names', '3')).stdout).toBe('page.html\n')
  expect((await run('into', 'main', '-L', '5')).code).toBe(0)
  expect(service.received.at(-1)!.query).toMatchObject({ base_ref: 'main', search: 'a b', limit: '5' })
  expect((await run('into')).stderr).toContain('needs an argument')
  expect((await run('alias', 'ls')).stdout).toBe(
    "names\tsvc cr diff --name-only\ninto\tsvc cr ls --base $1 --search 'a b'\n",
  )
  expect((await run('alias', 'set', 'cr', 'cr ls')).stderr).toContain('svc cr is a command already')
  expect((await run('alias', 'set', 'x', 'frobnicate')).code).toBe(2)
  expect((await run('alias', 'rm', 'names')).code).toBe(0)
  expect((await run('names', '3')).code).toBe(2)
  expect((await run('alias', 'rm', 'names')).code).toBe(1)
})
