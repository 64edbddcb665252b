/** The server of deploy/compose, from its image to its upgrade. `npm test` skips this until `npm run test:container` has made an engine. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { LaterVersion } from '../e2e/later-version.ts'
import { git, program, root, run, until } from '../e2e/harness.ts'
import { ComposeInstallation } from './compose.ts'

setDefaultTimeout(600_000)

const begun = await ComposeInstallation.begin()
const isMissing = typeof begun === 'string'
if (isMissing) console.log(`deploy/compose is not tested: ${begun}`)

afterAll(async () => {
  if (!isMissing) await begun.end()
})

describe.skipIf(isMissing)('deploy/compose', () => {
  const installation = begun as ComposeInstallation
  const address = 'http://localhost:8420'
  let project: string
  let token: string
  let gateway: string
  let tree: string
  let pushed: string

  async function load(by: string, name: string): Promise<void> {
    const file = join(installation.dir, 'svc.tar')
    const written = await run([by, 'self-host', 'image', '--output', file, '--name', name], {
      env: { PATH: process.env['PATH'] ?? '', HOME: installation.dir, SVC_DATA_DIR: join(installation.dir, 'data') },
    })
    expect([written.code, written.stderr]).toEqual([0, expect.stringContaining(`docker load --input ${file}`)])
    expect(await installation.docker('load', '--input', file)).toContain(`Loaded image: ${name}`)
  }

  const ready = async () =>
    JSON.parse(await installation.outside(['curl', '--silent', '--fail', `${address}/v1/ready`])) as {
      version: string
      sandbox: object
    }

  async function expectWhole(): Promise<void> {
    const clone = join(installation.dir, `clone-${crypto.randomUUID()}`)
    await installation.outside(['git', 'clone', '--quiet', gateway, clone])
    expect(await git(clone, 'rev-parse', 'HEAD')).toBe(pushed)
    const secrets = ['curl', '--silent', '--fail', '--header', `Authorization: Bearer ${token}`]
    const listed = await installation.outside([...secrets, `${address}/v1/projects/${project}/secrets`])
    expect(JSON.parse(listed)).toMatchObject({ items: [{ name: 'KEPT' }] })
  }

  beforeAll(async () => {
    tree = join(installation.dir, 'tree')
    await mkdir(tree)
    await git(tree, 'init', '--quiet', '--initial-branch=main')
    await Bun.write(join(tree, 'a.txt'), 'a\n')
    await git(tree, 'add', '.')
    await git(tree, 'commit', '--quiet', '-m', 'First')
    pushed = await git(tree, 'rev-parse', 'HEAD')
  })

  test('the image loads, and the server becomes healthy as a user without rights', async () => {
    await load(program, `svc.local/svc:${manifest.version}`)
    await installation.compose('up', '--detach', '--wait')
    expect(await ready()).toMatchObject({ version: manifest.version, sandbox: { driver: 'local', ready: true } })
    expect(await installation.compose('exec', '-T', 'server', 'id', '-u')).toBe('10001')
    expect(await installation.svc('self-host', 'owner-link')).toStartWith(`${address}/sign-in#`)
    const logs = await installation.compose('logs', 'server')
    expect(logs).toContain('svc is ready.')
    // The port is for this machine alone.
    expect(await installation.compose('port', 'server', '8420')).toBe('127.0.0.1:8420')
  })

  test('a project is created, and a push and a clone work from outside', async () => {
    project = (await installation.json<{ project_id: string }>('projects', 'create', '--name', 'kept')).project_id
    token = await installation.svc('tokens', 'create', '--name', 'git')
    gateway = `http://x-access-token:${token}@localhost:8420/v1/projects/${project}/git`
    await installation.outside(['git', 'push', '--quiet', gateway, 'main'], tree)
    await installation.svc('secrets', 'set', 'KEPT=value', '--project', project)
    await expectWhole()
  })

  test('an agent works in a sandbox inside the container', async () => {
    const prompt = 'Do this.\n\n```svc-script\necho contained-$((20 + 1)); id -u; ls /var/lib/svc\n```'
    const { session_id: id } = await installation.json<{ session_id: string }>(
      ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo', '--prompt', prompt],
    )
    await until('the agent to answer', async () => {
      const { session } = await installation.json<{ session: { status: string; error: string | null } }>(
        ...['sessions', 'info', id, '--project', project],
      )
      if (session.status === 'failed') throw new Error(`The session failed: ${session.error}`)
      return (await installation.svc('sessions', 'log', id, '--project', project)).includes('contained-21')
    })
  })

  test('a stop and the next start keep the data', async () => {
    await installation.compose('stop')
    await installation.compose('up', '--detach', '--wait')
    await expectWhole()
  })

  test('a backup is copied out of the container, and so is the master key', async () => {
    await installation.svc('self-host', 'backup', '/var/lib/svc/backups')
    await installation.compose('cp', 'server:/var/lib/svc/backups', join(installation.dir, 'backups'))
    const listed = await run([program, 'self-host', 'backups', join(installation.dir, 'backups'), '--json'], {
      env: { PATH: process.env['PATH'] ?? '', HOME: installation.dir },
    })
    expect([listed.code, JSON.parse(listed.stdout)]).toEqual([0, expect.anything()])
    await installation.compose('cp', 'server:/etc/svc/master.key', join(installation.dir, 'master.key'))
    expect(existsSync(join(installation.dir, 'master.key'))).toBe(true)
  })

  test('an upgrade to the image of a later version migrates and keeps the data', async () => {
    const sources = await LaterVersion.begin(join(installation.dir, 'sources'))
    const later = join(installation.dir, 'later')
    await mkdir(join(later, 'dist'), { recursive: true })
    await symlink(join(root, 'node_modules'), join(later, 'node_modules'))
    const migrations = { '9001_later.sql': 'create table later (id integer);' }
    await sources.build('99.0.0', migrations, join(later, 'dist/svc'))
    await load(join(later, 'dist/svc'), 'svc.local/svc:99.0.0')
    installation.settings['SERVER_IMAGE'] = 'svc.local/svc:99.0.0'
    await installation.compose('up', '--detach', '--wait')
    expect(await ready()).toMatchObject({ version: '99.0.0' })
    await expectWhole()
  })

  test('the backup is restored into a new volume by the later version', async () => {
    const backups = join(installation.dir, 'backups')
    await run(['chown', '-R', '10001:10001', backups])
    await installation.compose('down')
    await installation.docker('volume', 'rm', 'svc_data')
    const once = ['run', '--rm', '-T', '--volume', `${backups}:/backups:ro`, 'server']
    await installation.compose(...once, 'svc', 'self-host', 'restore', '/backups')
    await installation.compose('up', '--detach', '--wait')
    expect(await installation.json<object>('self-host', 'check')).toMatchObject({ projects: 1, disagreements: [] })
    await installation.svc('self-host', 'resume')
    await expectWhole()
  })

  test('the server that is taken down leaves its two volumes, and no process', async () => {
    await installation.compose('down')
    const left = await installation.engine.left()
    expect(left.toSorted()).toEqual(['volume svc_data', 'volume svc_master-key'])
    await installation.compose('down', '--volumes')
    expect(await installation.engine.left()).toEqual([])
    expect(processesWith('/var/lib/svc/data')).toEqual([])
  })
})
