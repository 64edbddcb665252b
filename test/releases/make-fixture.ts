/**
 * `node scripts/bun.mjs test/releases/make-fixture.ts` keeps a backup of the version that is built in dist/svc:
 * test/fixtures/releases/<version>. A real server makes it, with one agent at work. Run it once for each release, on a
 * machine with a sandbox.
 */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { gatewayOf, git, program, root, run, Server, until } from '../e2e/harness.ts'
import { type Facts, fixtures, masterKey, ownerToken, releaseNames } from './fixtures.ts'

const bytesMax = 300_000

/** Without a path or a name of this machine. */
const dir = '/tmp/svc-release'

const { version } = (await Bun.file(join(root, 'package.json')).json()) as { version: string }
const target = join(fixtures, version)
if (existsSync(target)) throw new Error(`${target} exists. A kept release never changes.`)

const manifest = `[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
enabled = true
prompt = "Look for broken links."
`

function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

/** The master key is one that everybody knows, so that the fixture has no secret of anyone. */
async function begin(): Promise<Server> {
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir)
  await writeFile(join(dir, 'master.key'), masterKey, { mode: 0o600 })
  return await Server.start(
    {
      SVC_DATA_DIR: join(dir, 'data'),
      SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
      SVC_SERVER_NAME: 'server-1',
      SVC_BOOTSTRAP_TOKEN: ownerToken,
      SVC_SANDBOX_DRIVER: 'local',
    },
    [],
    { fromNothing: true },
  )
}

async function seed(server: Server, project: string): Promise<string> {
  const clone = join(dir, 'clone')
  await git(dir, 'init', '--quiet', '--initial-branch=main', clone)
  await writeFile(join(clone, 'README.md'), '# Links\n')
  await writeFile(join(clone, 'svc.toml'), manifest)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, { project_id: project }))
  await git(clone, 'push', '--quiet', 'origin', 'main')
  for (const name of ['merged', 'open']) {
    await git(clone, 'checkout', '--quiet', '-b', name, 'origin/main')
    await writeFile(join(clone, `${name}.txt`), `${name}\n`)
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', `Add ${name}.txt`)
    await git(clone, 'push', '--quiet', 'origin', name)
  }
  return clone
}

interface Wip {
  files: number
}

async function makeFacts(server: Server): Promise<Facts> {
  const project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'links'])).project_id
  const at = (path: string) => `/v1/projects/${project}${path}`
  await seed(server, project)
  await server.send('POST', at('/secrets'), { name: 'LINK_KEY', value: 'a value that is sealed' })
  const numbers: Record<string, number> = {}
  for (const name of ['merged', 'open']) {
    const cr = await server.send<{ cr_id: string; number: number }>('POST', at('/change-requests'), {
      ...{ title: `Add ${name}.txt`, head_ref: name, base_ref: 'main' },
    })
    numbers[name] = cr.number
    if (name === 'merged') await server.send('POST', at(`/change-requests/${cr.cr_id}/merge`))
  }
  await until('the trigger', async () => {
    const { triggers } = await server.send<{ triggers: { slug: string }[] }>('GET', at('/triggers'))
    return triggers.some(({ slug }) => slug === 'nightly')
  })
  const { session_id: session } = await server.send<{ session_id: string }>('POST', at('/sessions'), {
    ...{ model: 'svc-scripted-demo', initial_prompt: script('echo unfinished > unfinished.txt') },
  })
  await until(
    'the unfinished work',
    async () => (await server.send<Wip>('GET', at(`/sessions/${session}/wip`))).files === 1,
  )
  await server.send('POST', at(`/sessions/${session}/stop`))
  return {
    ...{ version, project, session, merged: numbers.merged!, open: numbers.open! },
    ...{ secret: 'LINK_KEY', trigger: 'nightly', said: 'unfinished.txt' },
  }
}

/** What would tell where the fixture was made. */
function refuseNames(path: string, text: string): void {
  const { username, homedir } = userInfo()
  // A short name, or that of the superuser, is a word that is also elsewhere.
  const names = [hostname(), username].filter((name) => name.length > 3 && name !== 'root')
  const found = [...names, `${homedir}/`, `${root}/`, '/home/'].find((name) => text.includes(name))
  if (found !== undefined) throw new Error(`${path} has ${found}, a name of this machine.`)
}

async function keep(server: Server, facts: Facts): Promise<void> {
  const folder = join(dir, 'backup')
  const made = await run([program, 'self-host', 'backup', folder, '--json'], { env: server.env })
  if (made.code !== 0) throw new Error(made.stderr)
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'backup.lock') continue
    const from = join(entry.parentPath, entry.name)
    const data = await readFile(from)
    refuseNames(from, (entry.name.endsWith('.gz') ? gunzipSync(data) : data).toString('latin1'))
    bytes += (await stat(from)).size
    const to = join(target, 'backup', from.slice(folder.length + 1))
    await mkdir(join(to, '..'), { recursive: true })
    await copyFile(from, to)
  }
  if (bytes > bytesMax) throw new Error(`The fixture has ${bytes} bytes, more than ${bytesMax}.`)
  await writeFile(join(target, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`)
  process.stdout.write(`Kept ${target}: ${bytes} bytes. Releases: ${(await releaseNames()).join(', ')}\n`)
}

const server = await begin()
try {
  await keep(server, await makeFacts(server))
} catch (error) {
  await rm(target, { recursive: true, force: true })
  throw error
} finally {
  await server.end()
  await rm(dir, { recursive: true, force: true })
}
