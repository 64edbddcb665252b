/** With any sandbox driver, a warm session is a session like any other: its agent sees the same environment and repository, and nothing of what went before. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import { git, makeFirstCommit, Server, until } from './harness.ts'

interface Session {
  session_id: string
  status: string
  error: string | null
  sandbox_url: string | null
  sandbox: { generation: number } | null
}
interface Transcript {
  messages: { role: string; parts: { type: string; text?: string; output?: string }[] }[]
}

let server: Server
let project: string
let sessions: string

/** On the default branch, as a merge would leave it, and a branch beside it. */
async function addAgent(): Promise<void> {
  const bare = join(server.env.SVC_DATA_DIR!, 'repositories', `${project}.git`)
  const tree = join(server.dir, 'tree')
  await git(server.dir, 'clone', '--quiet', bare, tree)
  const file = join(tree, '.svc/runtime/agents/house.md')
  await Bun.write(file, '---\ndescription: helps\nmode: primary\n---\nYou are the house agent.\n')
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'An agent')
  await git(tree, 'push', '--quiet', 'origin', 'HEAD:main', 'HEAD:other')
}

async function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const response = await server.api(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

const get = async <T>(path: string) => (await (await server.api(path)).json()) as T

async function running(body: object): Promise<Session & { phases: string[] }> {
  const { session_id } = await post<Session>(sessions, { model: 'svc-scripted-demo', ...body })
  const session = await until('the session to run', async () => {
    const found = await get<Session>(`${sessions}/${session_id}`)
    if (found.status === 'failed') throw new Error(found.error ?? 'failed')
    return found.status === 'running' && found
  })
  const { phases } = await get<{ phases: { name: string }[] }>(`${sessions}/${session_id}/timeline`)
  return { ...session, phases: phases.map(({ name }) => name) }
}

/** A session that found a sandbox waiting: the project had one before, and its own waits since. */
async function warmed(body: object): Promise<Session & { phases: string[] }> {
  const made = () => server.output.split('a warm sandbox is ready').length - 1
  // A project gets one once it was worked on.
  const first = made() === 0 ? await running({}) : null
  await until('a sandbox to wait', async () => made() > claimed, 240_000)
  const session = await running(body)
  expect(session.phases).toEqual(['claim'])
  claimed++
  if (first !== null) await server.api(`${sessions}/${first.session_id}/stop`, { method: 'POST' })
  return session
}
let claimed = 0

/** What the agent's bash says between the marks. */
async function said(sessionId: string, mark: string): Promise<string> {
  const look = async () => {
    const { messages } = await get<Transcript>(`${sessions}/${sessionId}/transcript`)
    const text = messages.flatMap(({ parts }) => parts.map((part) => part.output ?? '')).join('\n')
    return new RegExp(`${mark}\\[([^\\]]*)\\]`).exec(text)?.[1]
  }
  // A turn is several starts of programs, and the machine may have others to run.
  return until(`the agent to say ${mark}`, look, 240_000)
}

// Packed, or what is secret in it would be taken out of the transcript.
const script = ['```svc-script', 'printf "env%s]\\n" "[$(env -0 | gzip | base64 -w0)"', '```'].join('\n')

async function environmentOf(sessionId: string): Promise<Record<string, string>> {
  const text = Buffer.from(Bun.gunzipSync(Buffer.from(await said(sessionId, 'env'), 'base64'))).toString()
  return Object.fromEntries(
    text
      .split('\0')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

/** Of these only the kind is the same in two sessions. */
const own = /^(SVC_TOKEN|SVC_CLI_TOKEN|SVC_EXECUTOR_TOKEN|SVC_LLM_API_KEY|SVC_ALT_API_KEY)$/
function comparable(env: Record<string, string>, session: Session): Record<string, string> {
  // opencode counts its processes and names its runs here; bash counts its own.
  const { OPENCODE_PID: _pid, OPENCODE_RUN_ID: _run, ...rest } = env
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [
      name,
      own.test(name) ? value.slice(0, 8) : value.replaceAll(session.session_id, 'SESSION'),
    ]),
  )
}

/** Starts a server for the tests that it returns. `driver` gives the settings of a sandbox driver. */
export function warmStory(driver: () => Record<string, string>) {
  setDefaultTimeout(600_000)
  beforeAll(async () => {
    server = await Server.start({ SVC_WARM_SANDBOXES: '1', ...driver() })
    project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'warm'])).project_id
    sessions = `/v1/projects/${project}/sessions`
    await makeFirstCommit(server, project)
    await addAgent()
    await post(`/v1/projects/${project}/secrets`, { name: 'MY_SECRET', value: "it's a\nsecret" })
  })
  afterAll(() => server?.end())

  const environment = async () => {
    const wishes = { initial_prompt: script, agent_name: 'house', base_ref: 'other' }
    const cold = await running(wishes)
    expect(cold.phases).toContain('clone')
    const coldEnv = await environmentOf(cold.session_id)
    const warm = await warmed(wishes)
    const warmEnv = await environmentOf(warm.session_id)
    expect(comparable(warmEnv, warm)).toEqual(comparable(coldEnv, cold))
    expect(warmEnv).toMatchObject({
      SVC_SESSION_ID: warm.session_id,
      SVC_BASE_REF: 'other',
      SVC_AGENT_NAME: 'house',
      SVC_INITIAL_PROMPT: script,
      SVC_BOOTSTRAP_RUNTIME_SESSION: '1',
      MY_SECRET: "it's a\nsecret",
    })
    for (const env of [coldEnv, warmEnv])
      expect((await server.api('/v1/token', { token: env['SVC_CLI_TOKEN']! })).status).toBe(200)
    for (const session of [cold, warm]) await server.api(`${sessions}/${session.session_id}/stop`, { method: 'POST' })
    for (const env of [coldEnv, warmEnv])
      expect((await server.api('/v1/token', { token: env['SVC_CLI_TOKEN']! })).status).toBe(401)
  }

  const branch = async () => {
    const warm = await warmed({})
    const known = await get<unknown[]>(`${new URL(warm.sandbox_url!).pathname}/session`)
    expect(known).toEqual([])
    const commands = [
      'printf "state%s]\\n" "[$(git status --porcelain --branch; git log --format=%s -1; git branch -r)"',
      'echo two >> a.txt && git commit -qam Two && git push -q origin HEAD && printf "pushed%s]\\n" "[$(git rev-parse HEAD)"',
    ]
    await post(`${sessions}/${warm.session_id}/prompt`, { text: ['```svc-script', ...commands, '```'].join('\n') })
    const state = await said(warm.session_id, 'state')
    expect(state.split('\n').map((line) => line.trim())).toEqual([
      `## ${warm.session_id}...origin/${warm.session_id}`,
      'An agent',
      `origin/${warm.session_id}`,
      'origin/main',
    ])
    const pushed = await said(warm.session_id, 'pushed')
    const bare = join(server.env.SVC_DATA_DIR!, 'repositories', `${project}.git`)
    expect(await git(bare, 'rev-parse', warm.session_id)).toBe(pushed)
    const { messages } = await get<Transcript>(`${sessions}/${warm.session_id}/transcript`)
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    expect(JSON.stringify(messages)).not.toContain('Say ok.')
  }
  return { environment, branch }
}
