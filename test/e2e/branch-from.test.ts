/** A session that continues from a turn of another one: with the files and the commits of that moment, in a real sandbox. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { git, Server, until } from './harness.ts'
import { gatewayOf, script } from './page-story.ts'

const minute = 60_000
let server: Server
let project: { project_id: string; slug: string }
let source: string

interface Made {
  session_id: string
  status: string
  error: string | null
}
interface Said {
  messages: { message_id: string; role: string; parts: { type: string; output?: string; text?: string }[] }[]
}

const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  server = await Server.start()
  project = await server.json(['projects', 'create', '--name', 'roads'])
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await Bun.write(join(clone, 'a.txt'), 'base\n')
  await Bun.write(join(clone, 'gone.txt'), 'gone\n')
  await Bun.write(join(clone, '.gitignore'), 'ignored/\n')
  await git(clone, 'add', '--all')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', gatewayOf(server, project), 'main')
  const made = await server.json<Made>(['sessions', 'new', '--model', 'svc-scripted-demo', ...inProject()])
  source = made.session_id
}, 3 * minute)

afterAll(() => server?.end(), minute)

/** Returns when the agent has answered. */
async function ask(sessionId: string, ...commands: string[]): Promise<void> {
  const asked = await server.svc(['sessions', 'chat', sessionId, ...inProject(), '--prompt', script(...commands)])
  if (asked.code !== 0) throw new Error(asked.stderr)
}

const said = (id: string) => server.json<Said>(['sessions', 'log', id, ...inProject()])

/** The output of all commands of a session. */
async function printed(id: string): Promise<string> {
  const { messages } = await said(id)
  return messages.flatMap(({ parts }) => parts.map(({ output = '' }) => output)).join('\n')
}

/** The session is running, and has the answer to its first prompt. */
async function answered(id: string): Promise<string> {
  return until(`the answer of ${id}`, async () => {
    const { session } = await server.json<{ session: Made }>(['sessions', 'info', id, ...inProject()])
    if (session.status === 'failed') throw new Error(`The session failed: ${session.error}`)
    const text = await printed(id)
    return text.includes('the end') ? text : null
  })
}

const look = [
  'echo "a: $(cat a.txt)"; echo "new: $(cat new.txt 2>&1)"; ls gone.txt ignored 2>&1 || true',
  'echo "log: $(git log --format=%s | tr "\\n" ,)"; echo "status:"; git status --short; echo the end',
]

test(
  'the files and the commits of a turn, pushed or not, and a branch of its own',
  async () => {
    await ask(
      source,
      'echo pushed > a.txt; git commit -qam Pushed; git push -q origin HEAD',
      'echo kept > new.txt; git add new.txt; git commit -qm "Not pushed"',
      'echo first > a.txt; rm gone.txt; mkdir ignored; echo x > ignored/x',
    )
    const { messages } = await said(source)
    const first = messages.at(-1)!.message_id
    await ask(
      source,
      'echo second > a.txt; rm new.txt; git checkout -q gone.txt; git commit -qam Later; git push -q origin HEAD',
    )
    const before = await said(source)
    const made = await server.json<Made>([
      ...['sessions', 'new', '--from', source.slice(0, 8), '--message', first, '--no-wait', ...inProject()],
      ...['--prompt', script(...look)],
    ])
    const text = await answered(made.session_id)
    expect(text).toContain('a: first')
    expect(text).toContain('new: kept')
    expect(text).toContain('log: Not pushed,Pushed,First,')
    expect(text).toMatch(/status:\n M a\.txt\n D gone\.txt\n/)
    expect(text).toContain("cannot access 'gone.txt'")
    expect(text).toContain("cannot access 'ignored'")
    // The agent of the new session pushes to its own branch.
    await ask(made.session_id, 'git commit -qam Mine; git push -q origin HEAD; git log --oneline origin/HEAD..HEAD')
    const bare = gatewayOf(server, project)
    const subjects = async (branch: string) => {
      const clone = await mkdtemp(join(server.dir, 'look-'))
      await git(clone, 'clone', '--quiet', '--branch', branch, bare, 'r')
      return (await git(join(clone, 'r'), 'log', '--format=%s')).split('\n').filter(Boolean)
    }
    expect(await subjects(made.session_id)).toEqual(['Mine', 'Not pushed', 'Pushed', 'First'])
    expect(await subjects(source)).toEqual(['Later', 'Not pushed', 'Pushed', 'First'])
    expect(await said(source)).toEqual(before)
    await server.svc(['sessions', 'stop', made.session_id, ...inProject()])
  },
  6 * minute,
)

test(
  'a stopped session goes on in another one, as it is saved',
  async () => {
    await ask(source, 'echo unsaved > late.txt')
    await server.svc(['sessions', 'stop', source, ...inProject()])
    const made = await server.json<Made>([
      ...['sessions', 'new', '--from', source, '--no-wait', '--model', 'svc-scripted-demo', ...inProject()],
      ...['--prompt', script('echo "late: $(cat late.txt)"; echo the end')],
    ])
    expect(await answered(made.session_id)).toContain('late: unsaved')
  },
  4 * minute,
)
