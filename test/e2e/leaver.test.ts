/** A person leaves the account: what they began is gone on with, and what they hold is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Ran, Server, until } from './harness.ts'

const minute = 60_000
let server: Server
let project: string
beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'app'])).project_id
  await server.send('POST', `/v1/projects/${project}/first-commit`)
}, 3 * minute)
afterAll(() => server?.end(), minute)

/** A browser that signs in with the code of a link. */
async function signIn(link: string) {
  const headers = { 'content-type': 'application/json', origin: server.url }
  const code = link.trim().split('#')[1]
  const init = { method: 'POST', headers, body: JSON.stringify({ code }) }
  const cookie = (await fetch(`${server.url}/v1/sign-in`, init)).headers.get('set-cookie')?.split(';')[0] ?? ''
  return async <T>(path: string, body: object) => {
    const sent = { method: 'POST', headers: { ...headers, cookie }, body: JSON.stringify(body) }
    return (await (await fetch(`${server.url}${path}`, sent)).json()) as T
  }
}

/** The client of a new member, as on a machine of their own. */
async function newMember(email: string): Promise<(...args: string[]) => Promise<Ran>> {
  const owner = await signIn((await server.json<{ url: string }>(['self-host', 'owner-link'])).url)
  const { account_id } = (await server.send<{ accounts: { account_id: string }[] }>('GET', '/v1/accounts')).accounts[0]!
  const path = `/v1/accounts/${account_id}/members`
  const invited = await owner<{ sign_in: { url: string } }>(path, { email, role: 'member' })
  const member = await signIn(invited.sign_in.url)
  const { secret_key } = await member<{ secret_key: string }>('/v1/accounts/tokens', { name: 'laptop' })
  const env = { SVC_CONFIG_FILE: `${server.dir}/${email}.json`, SVC_API_URL: server.url, SVC_CLI_TOKEN: secret_key }
  return (...args) => server.svc([...args, '--project', project], { env })
}

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

test(
  'the session of a person who left goes on with its work after a restart by another member',
  async () => {
    const carl = await newMember('carl@example.test')
    const write = script(`echo kept > work.txt`)
    const made = await carl('sessions', 'new', '--model', 'svc-scripted-demo', '--prompt', write, '--json')
    expect(made.code).toBe(0)
    const { session_id: id } = JSON.parse(made.stdout) as { session_id: string }
    await until('the work to be saved', async () => {
      const { unfinished_work: work } = await server.json<{ unfinished_work: { files: number } }>([
        ...['sessions', 'info', id, '--project', project],
      ])
      return work.files === 1
    })
    await server.json(['members', 'rm', 'carl@example.test', '--yes'])

    const chat = (...lines: string[]) =>
      server.svc(['sessions', 'chat', id, '--project', project, '--prompt', script(...lines)])
    const push = 'git add work.txt && git commit -q -m Work && git push -q origin HEAD'
    const refused = await chat(push)
    expect(refused.stderr).toContain(
      `This session acts for carl, who is no longer a member of the account of this project. A member goes on with it in their own name: svc sessions restart ${id}`,
    )

    await server.json(['sessions', 'restart', id, '--wait', '--project', project])
    await server.json(['sessions', 'recover', id, '--into-sandbox', '--project', project])
    await chat('cat work.txt', push)
    const file = await server.api(`/v1/projects/${project}/file?ref=${id}&path=work.txt`)
    expect(await file.text()).toContain('kept')
  },
  5 * minute,
)
