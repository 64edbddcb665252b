import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from '../git.ts'
import {
  aChangeRequest,
  aPatch,
  aProject,
  aSession,
  type Answers,
  ids,
  type Received,
  type Service,
  startService,
  svc,
  token,
} from '../testing.ts'

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'svc-tour-test-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

const at = aSession().created_at
const session = aSession({ branch_name: ids.session, model: 'svc-scripted-demo' })

/** The gateway is git's own, over the same HTTP server, for a project whose repository is empty. */
async function tourService(more: Answers = {}): Promise<Service & { repository: string; pushes: Received[] }> {
  const repository = await mkdtemp(join(folder, 'repository-'))
  await git(repository, ['init', '--quiet', '--bare'], process.env)
  await git(repository, ['config', 'http.receivepack', 'true'], process.env)
  const pushes: Received[] = []
  const gateway = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url)
      const prefix = `/v1/projects/${ids.project}/git`
      if (!url.pathname.startsWith(prefix))
        return fetch(new Request(`${service.url}${url.pathname}${url.search}`, request))
      pushes.push({
        name: 'git',
        method: request.method,
        path: url.pathname,
        params: {},
        query: {},
        headers: request.headers,
        body: null,
      })
      return gitBackend(repository, request, url.pathname.slice(prefix.length), url.search.slice(1))
    },
  })
  const service = startService({
    createProject: () => aProject({ slug: 'svc-tour', managed: true, git_url: 'http://stranger.example.net/git' }),
    getProject: () => aProject({ slug: 'svc-tour', managed: true }),
    createSession: () => ({ ...session, status: 'provisioning' }),
    getSession: () => session,
    listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref: ids.session })] }),
    async *streamSessionEvents() {
      const message = { created_at: at, completed_at: at, error: null }
      yield { type: 'turn', status: 'busy', error: null }
      yield {
        type: 'message',
        message: {
          ...message,
          message_id: 'a',
          role: 'assistant',
          parts: [{ type: 'text', id: '1', text: 'I add a greeting.' }],
        },
      }
      yield { type: 'turn', status: 'idle', error: null }
      await new Promise(() => {})
    },
    ...more,
  })
  return {
    ...service,
    url: `http://127.0.0.1:${gateway.port}`,
    repository,
    pushes,
    async [Symbol.asyncDispose]() {
      await gateway.stop(true)
      await service[Symbol.asyncDispose]()
    },
  }
}

async function gitBackend(repository: string, request: Request, path: string, query: string): Promise<Response> {
  const child = Bun.spawn(['git', 'http-backend'], {
    stdin: new Uint8Array(await request.arrayBuffer()),
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: repository,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      REMOTE_USER: 'tour',
    },
  })
  const answer = Buffer.from(await new Response(child.stdout).arrayBuffer())
  const end = answer.indexOf('\r\n\r\n')
  const headers = new Headers(
    answer
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]),
  )
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200)
  headers.delete('status')
  return new Response(answer.subarray(end + 4), { status, headers })
}

describe('svc tour', () => {
  test('makes a project, pushes its first commit, follows the session, shows the change and merges with --yes', async () => {
    await using service = await tourService()
    const { code, stdout, stderr } = await svc(['tour', '--yes'], { service })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(await git(service.repository, ['ls-tree', '--name-only', 'main'], process.env)).toBe(
      'README.md\nindex.html\n',
    )
    const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
    expect(service.pushes.map((push) => push.headers.get('authorization'))).toEqual(service.pushes.map(() => basic))
    expect(service.of('createSession')[0]!.body).toMatchObject({
      initial_prompt: 'Add a greeting to the page, commit it, push it and open a change request.',
      model: 'svc-scripted-demo',
    })
    expect(stderr).toContain('scripted model, no AI: shows the real path')
    expect(stdout).toContain('I add a greeting.')
    expect(stdout).toContain(aPatch)
    expect(stdout).toContain('Merged #3')
    expect(stderr).toContain('svc projects rm svc-tour')
    expect(stdout + stderr).not.toContain(token)
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
    expect(service.of('deleteProject')).toEqual([])
  })

  test('without anybody to ask it leaves the change request open and names the command', async () => {
    await using service = await tourService()
    const { code, stderr } = await svc(['tour'], { service })
    expect(code).toBe(0)
    expect(stderr).toContain('svc cr merge 3 --project svc-tour')
    expect(service.of('mergeChangeRequest')).toEqual([])
  })

  test('asks a person', async () => {
    await using service = await tourService()
    const types = [{ after: /Merge #3 into main/, keys: 'y\r' }]
    expect((await svc(['tour'], { service, terminal: true, types })).code).toBe(0)
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
  })

  test('says that a real model is there and is not used', async () => {
    await using service = await tourService({
      getReady: () => ({
        status: 'ready',
        version: '1',
        sandbox: { driver: 'x', ready: true, problem: null, install: null },
        model: 'upstream',
      }),
    })
    expect((await svc(['tour'], { service })).stderr).toContain('the tour does not use it')
  })

  test('makes nothing where no sandbox can start', async () => {
    await using service = await tourService({
      getReady: () => ({
        status: 'ready',
        version: '1',
        model: 'none',
        sandbox: { driver: 'none', ready: false, problem: 'bubblewrap is missing', install: 'apt install bubblewrap' },
      }),
    })
    const { code, stderr } = await svc(['tour'], { service })
    expect(code).toBe(1)
    expect(stderr).toContain('apt install bubblewrap')
    expect(service.of('createProject')).toEqual([])
  })

  test('--json is one document', async () => {
    await using service = await tourService()
    const ran = await svc(['tour', '--yes', '--json'], { service })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' })
    expect(Object.keys(ran.json())).toEqual(['project', 'session', 'change_request', 'diff', 'merge'])
  })
})
