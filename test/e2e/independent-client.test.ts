/** A client by another author, which uses HTTP and git and none of our code: the forms of docs/guide/other-clients.md, from a token to a merged change. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { git, Server, until } from './harness.ts'

setDefaultTimeout(240_000)

interface Session {
  session_id: string
  status: string
  error: string | null
  branch_name: string
  agent_name: string
  sandbox: { sandbox_id: string } | null
}

const hookSecret = 'whsec-0123456789abcdef'
const manifest = `svc_version = 1

[[triggers]]
slug = "triage"
type = "webhook"
secret_env = "HOOK_SECRET"
model = "svc-scripted-demo"
prompt = "Look at {{ body.issue.title }}, labelled {{ body.issue.labels.1 }}."

[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
timezone = "Europe/Berlin"
model = "svc-scripted-demo"
prompt = "{{ cron.name }} of {{ cron.expression }} in {{ cron.timezone }}, due {{ cron.due_at }}."
`
const work = [
  'Do this.',
  '',
  '```svc-script',
  'printf "done\\n" > done.txt',
  'git add done.txt && git commit -q -m "Do it"',
  'git push -q origin HEAD',
  '```',
].join('\n')

let server: Server
let project: { project_id: string; git_url: string }
let clone: string
beforeAll(async () => {
  server = await Server.start()
}, 120_000)
afterAll(() => server?.end(), 120_000)

async function call<T>(method: string, path: string, body?: unknown, status = 200): Promise<T> {
  const reply = await server.api(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const text = await reply.text()
  expect([method, path, reply.status, reply.status === status ? '' : text]).toEqual([method, path, status, ''])
  return JSON.parse(text) as T
}

/** The repository with a credential in one of the forms that git hosts take. */
function remote(username: string, password: string): string {
  const url = new URL(project.git_url)
  url.username = username
  url.password = password
  return url.href
}

test('an independent client reads the user and accounts of its token', async () => {
  const me = await call<{ user_id: string; email: string | null; accounts: object[] }>('GET', '/v1/accounts/me')
  expect(me).toMatchObject({ user_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as never, email: null })
  expect(me.accounts).toMatchObject([{ slug: expect.stringMatching(/^personal-/) as never, role: 'owner' }])
})

test('an independent client creates a project, and git pushes to it with the token in any form', async () => {
  project = await call('POST', '/v1/projects', { name: 'theirs' }, 201)
  clone = join(server.dir, 'theirs')
  await git(server.dir, 'init', '--quiet', '--initial-branch=main', clone)
  await Bun.write(join(clone, 'svc.toml'), manifest)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', remote(server.token, 'x-oauth-basic'), 'main')
  const tip = await git(clone, 'rev-parse', 'main')
  for (const [username, password] of [
    ['anyone', server.token],
    ['', server.token],
    [server.token, ''],
  ] as const)
    expect(await git(clone, 'ls-remote', remote(username, password), 'main')).toStartWith(tip)
})

test('an independent client starts a session on a branch named by its id, reaches it at /v1/p, and merges its change', async () => {
  const sessions = `/v1/projects/${project.project_id}/sessions`
  const session_id = randomUUID()
  const wanted = {
    ...{ session_id, branch_already_created: true, agent_name: 'default' },
    ...{ model: 'svc-scripted-demo', initial_prompt: work },
  }
  const refused = await call<{ error: string }>('POST', sessions, { ...wanted, inital_prompt: 'x' }, 400)
  expect(refused.error).toContain('unknown field: inital_prompt; did you mean initial_prompt?')
  await call('POST', sessions, wanted, 422)
  await git(clone, 'checkout', '--quiet', '-b', session_id)
  await git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'Prepared by the client')
  const prepared = await git(clone, 'rev-parse', 'HEAD')
  await git(clone, 'push', '--quiet', remote('anyone', server.token), session_id)
  const made = await call<Session>('POST', sessions, wanted, 201)
  expect(made).toMatchObject({ session_id, branch_name: session_id })
  expect((await call<Session>('POST', sessions, wanted, 201)).session_id).toBe(session_id)

  await until('the session to run', async () => {
    const { status, error } = await call<Session>('GET', `${sessions}/${session_id}`)
    if (status === 'failed') throw new Error(`The session failed: ${error}`)
    return status === 'running'
  })
  const health = await call<{ daemon: string; branch: string }>('GET', `/v1/p/${session_id}/svc/health`)
  expect(health).toMatchObject({ daemon: 'ok', branch: session_id })
  expect((await server.api(`/v1/p/${session_id}/svc/health`, { token: null })).status).toBe(401)
  expect(await call<object[]>('GET', `/v1/p/${session_id}/session`)).toBeArray()
  await call('POST', `/v1/p/${session_id}/svc/env`, {}, 403)

  const pushed = await until('the agent to push', async () => {
    const [tip = ''] = (await git(clone, 'ls-remote', remote('anyone', server.token), session_id)).split('\t')
    return tip === prepared ? null : tip
  })
  const changes = `/v1/projects/${project.project_id}/change-requests`
  const cr = await call<{ cr_id: string }>('POST', changes, { title: 'Do it', head_ref: session_id }, 201)
  await call('POST', `${changes}/${cr.cr_id}/merge`, { expected_head_sha: pushed })
  await git(clone, 'fetch', '--quiet', remote('', server.token), 'main')
  expect(await git(clone, 'show', 'FETCH_HEAD:done.txt')).toBe('done')
  expect(await git(clone, 'merge-base', prepared, 'FETCH_HEAD')).toBe(prepared)
  await call('POST', `${sessions}/${session_id}/stop`)
})

test('an independent client reads triggers by its names, and their prompts are filled in', async () => {
  const base = `/v1/projects/${project.project_id}`
  await call('POST', `${base}/secrets`, { name: 'HOOK_SECRET', value: hookSecret })
  const { triggers } = await call<{ triggers: { name: string; prompt_template: string }[] }>('GET', `${base}/triggers`)
  expect(triggers.map(({ name }) => name)).toEqual(['triage', 'nightly'])
  expect(triggers[0]!.prompt_template).toContain('{{ body.issue.title }}')

  const firstPrompt = async (fired: { session_id: string; status: string }) => {
    expect(fired.status).toBe('fired')
    await call('POST', `${base}/sessions/${fired.session_id}/stop`)
    const { prompts } = await call<{ prompts: { text: string }[] }>(
      'GET',
      `${base}/sessions/${fired.session_id}/prompts`,
    )
    return prompts.at(-1)!.text
  }
  const body = JSON.stringify({ issue: { title: 'It is {{ slug }}', labels: ['bug', 'p1'] } })
  const signature = createHmac('sha256', hookSecret).update(body).digest('hex')
  const delivered = await server.api(`${base}/triggers/triage/webhook`, {
    ...{ method: 'POST', token: null, body },
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
  })
  expect(delivered.status).toBe(202)
  expect(await firstPrompt((await delivered.json()) as never)).toStartWith(
    'Look at "It is {{ slug }}", labelled "p1".\n\n(The quoted values',
  )
  const fired = await call<{ session_id: string; status: string }>('POST', `${base}/triggers/nightly/fire`, {}, 202)
  expect(await firstPrompt(fired)).toMatch(
    /^nightly of 0 3 \* \* \* in Europe\/Berlin, due 20\d\d-\d\d-\d\dT[\d:.]+Z\.$/,
  )
})
