import { describe, expect, test } from 'bun:test'
import {
  aChangeRequest,
  aPatch,
  aProject,
  aSession,
  type Answers,
  ids,
  type Service,
  startService,
  svc,
  token,
} from '../testing.ts'

const at = aSession().created_at
const session = aSession({ branch_name: ids.session, model: 'svc-scripted-demo' })

/** A project with an empty repository, and a session that opens a change request. */
function tourService(more: Answers = {}): Service {
  return startService({
    createProject: () => aProject({ slug: 'svc-tour', managed: true, git_url: 'http://stranger.example.net/git' }),
    getProject: () => aProject({ slug: 'svc-tour', managed: true }),
    createFirstCommit: () => ({ branch: 'main', sha: 'a'.repeat(40) }),
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
}

describe('svc tour', () => {
  test('svc tour creates a project with a first commit, follows the session, shows the change, and merges with --yes', async () => {
    await using service = tourService()
    const { code, stdout, stderr } = await svc(['tour', '--yes'], { service })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(service.of('createFirstCommit')[0]!.body).toMatchObject({
      files: [{ path: 'README.md' }, { path: 'index.html' }],
    })
    expect(stderr).toContain('svc-tour: README.md and index.html on main')
    expect(service.of('createSession')[0]!.body).toMatchObject({
      initial_prompt: 'Add a greeting to the page, commit it, push it and open a change request.',
      model: 'svc-scripted-demo',
    })
    expect(stderr).toContain('scripted model, no AI: shows the real path')
    expect(stdout).toContain('I add a greeting.')
    expect(stdout).toContain(aPatch)
    expect(stdout).toContain('Merged #3')
    expect(stderr).toContain('svc projects rm svc-tour --purge')
    expect(stdout + stderr).not.toContain(token)
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
    expect(service.of('deleteProject')).toEqual([])
  })

  test('svc tour leaves the change request open and prints the merge command without a terminal', async () => {
    await using service = tourService()
    const { code, stderr } = await svc(['tour'], { service })
    expect(code).toBe(0)
    expect(stderr).toContain('svc cr merge 3 --project svc-tour')
    expect(service.of('mergeChangeRequest')).toEqual([])
  })

  test('svc tour asks before the merge on a terminal', async () => {
    await using service = tourService()
    const types = [{ after: /Merge #3 into main/, keys: 'y\r' }]
    expect((await svc(['tour'], { service, terminal: true, types })).code).toBe(0)
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
  })

  test('svc tour says that the server also has a real model, which it does not use', async () => {
    await using service = tourService({
      getReady: () => ({
        status: 'ready',
        version: '1',
        sandbox: { driver: 'x', ready: true, problem: null, install: null, missing_limits: [] },
        disk: { ready: true, problem: null },
        providers: { apps: 'none', connectors: 'none' },
        model: 'upstream',
      }),
    })
    expect((await svc(['tour'], { service })).stderr).toContain('the tour does not')
  })

  test('svc tour creates nothing on a server that cannot start sandboxes', async () => {
    await using service = tourService({
      getReady: () => ({
        status: 'ready',
        version: '1',
        model: 'none',
        sandbox: {
          driver: 'none',
          ready: false,
          problem: 'bubblewrap is missing',
          install: 'apt install bubblewrap',
          missing_limits: [],
        },
        disk: { ready: true, problem: null },
        providers: { apps: 'none', connectors: 'none' },
      }),
    })
    const { code, stderr } = await svc(['tour'], { service })
    expect(code).toBe(1)
    expect(stderr).toContain('apt install bubblewrap')
    expect(service.of('createProject')).toEqual([])
  })

  test('svc tour --json prints one document', async () => {
    await using service = tourService()
    const ran = await svc(['tour', '--yes', '--json'], { service })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' })
    expect(Object.keys(ran.json())).toEqual(['project', 'session', 'change_request', 'diff', 'merge'])
  })
})
