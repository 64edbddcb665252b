import { describe, expect, test } from 'bun:test'
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import { git } from '../../git/git.ts'
import { ids, startService, svc, temporaryFolder } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const pushed = (service: ReturnType<typeof startService>) =>
  Object.fromEntries(
    service.of('setSecret').map(({ body }) => {
      const { name, value } = body as { name: string; value: string }
      return [name, value]
    }),
  )

describe('env pull', () => {
  test('env pull writes names without values, readable only by the owner', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const cwd = folder.path
    expect((await svc(['env', 'pull'], { service, env, cwd })).code).toBe(0)
    const path = join(cwd, '.env')
    expect(await readFile(path, 'utf8'))
      .toBe(`# Secrets of the project ${ids.project}. The service never returns their values.

# required by svc.toml, set
KEY=

# required by svc.toml, not set yet
DB=

# not set yet
EXTRA=
`)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('env pull keeps an existing file or link unless --force is set', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const cwd = folder.path
    const path = join(cwd, '.env')
    await writeFile(path, 'KEY=mine\n')
    const refused = await svc(['env', 'pull'], { service, env, cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('.env already exists')
    expect(refused.stderr).toContain('svc env pull --out .env --force')
    expect(await readFile(path, 'utf8')).toBe('KEY=mine\n')
    expect((await svc(['env', 'pull', '--force'], { service, env, cwd })).code).toBe(0)
    expect(await readFile(path, 'utf8')).toContain('KEY=\n')
    await symlink(join(cwd, 'nowhere'), join(cwd, 'link'))
    expect((await svc(['env', 'pull', '--out', 'link'], { service, env, cwd })).code).toBe(1)
  })

  test('env pull --out - writes to stdout, and --json prints the names', async () => {
    await using service = startService()
    const ran = await svc(['env', 'pull', '--out', '-'], { service, env })
    expect(ran.stdout).toContain('\nDB=\n')
    expect((await svc(['env', 'pull', '--out', '-', '--json'], { service, env })).json()).toEqual({
      path: null,
      names: ['KEY', 'DB', 'EXTRA'],
    })
  })

  test('env pull warns when git does not ignore the file', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const cwd = folder.path
    await git(cwd, ['init', '--quiet'], process.env)
    expect((await svc(['env', 'pull'], { service, env, cwd })).stderr).toContain('git does not ignore .env')
    await writeFile(join(cwd, '.gitignore'), '.env\n')
    expect((await svc(['env', 'pull', '--force'], { service, env, cwd })).stderr).not.toContain('ignore')
  })

  test('env pull says why it cannot write the file', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const ran = await svc(['env', 'pull', '--out', 'no/such/.env'], { service, env, cwd: folder.path })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain("no/such/.env can't be written: the folder")
    expect(ran.stderr).toContain('/no/such does not exist\n')
  })
})

describe('env push', () => {
  const file = `# a comment
PLAIN=value
export EXPORTED=yes
SINGLE='a $b # not a comment'
DOUBLE="two\\nlines"
LINES="first
second"
SPACED =  trimmed   # a comment
HASH=a#b
EMPTY=
URL=postgres://u:p@h/db?x=1
`

  test('env push sets every NAME=VALUE, with quotes, export, comments and several lines', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, '.env'), `\uFEFF${file}`)
    const ran = await svc(['env', 'push', '--from', '.env', '--json'], { service, env, cwd: folder.path })
    expect(ran.code).toBe(0)
    expect(pushed(service)).toEqual({
      PLAIN: 'value',
      EXPORTED: 'yes',
      SINGLE: 'a $b # not a comment',
      DOUBLE: 'two\nlines',
      LINES: 'first\nsecond',
      SPACED: 'trimmed',
      HASH: 'a',
      URL: 'postgres://u:p@h/db?x=1',
    })
    expect(ran.json<{ skipped: string[] }>().skipped).toEqual(['EMPTY'])
  })

  test('env push sends nothing when one name is reserved or invalid, and never prints values', async () => {
    await using service = startService()
    const stdin = 'GOOD=canary-1\nSVC_TOKEN=canary-2\nLD_PRELOAD=canary-3\nnot.a.name=canary-4\n'
    const asText = await svc(['env', 'push', '--from', '-'], { service, env, stdin })
    expect(asText.code).toBe(1)
    for (const name of ['SVC_TOKEN: Names that start with SVC_', 'LD_PRELOAD: ', 'not.a.name: '])
      expect(asText.stderr).toContain(name)
    expect(asText.stdout + asText.stderr).not.toContain('canary')
    const asJson = await svc(['env', 'push', '--from', '-', '--json'], { service, env, stdin })
    expect(asJson.problem<{ issues: { path: string }[]; code: string }>()).toMatchObject({
      code: 'refused_names',
      issues: [{ path: 'SVC_TOKEN' }, { path: 'LD_PRELOAD' }, { path: 'not.a.name' }],
    })
    expect(service.received).toEqual([])
  })

  test('env push stops when the service refuses and says how many secrets were set', async () => {
    let calls = 0
    await using service = startService({
      setSecret: ({ body }) => {
        if (++calls === 2) throw new ServiceError('invalid', 'Too much')
        return { name: (body as { name: string }).name, created_at: at, updated_at: at, created_by: null }
      },
    })
    const ran = await svc(['env', 'push', '--from', '-'], { service, env, stdin: 'A=1\nB=2\nC=3\n' })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('1 of 3 were set before this: A')
    expect(calls).toBe(2)
  })
  const at = '2026-11-21T12:00:00.000Z'

  test('env push says what is wrong with the file', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const push = (from: string) => svc(['env', 'push', '--from', from], { service, env, cwd: folder.path })
    expect((await push('.env')).stderr).toContain('There is no file .env')
    await mkdir(join(folder.path, 'dir'))
    expect(await push('dir')).toMatchObject({ code: 2 })
    await writeFile(join(folder.path, 'none'), '# nothing\nEMPTY=\n')
    await chmod(join(folder.path, 'none'), 0o600)
    expect((await push('none')).stderr).toContain('contains no NAME=VALUE with a value')
    expect((await svc(['env', 'push'], { service, env })).code).toBe(2)
  })
})
