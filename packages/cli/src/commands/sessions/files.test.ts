import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { ids, startService, svc } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const files = ['sessions', 'files', ids.session]

const place = { source: 'sandbox', saved_at: null, git: 'changed', notes: [] }
const file = (more: object) => ({
  ...{ type: 'file', path: 'a.txt', ...place, size: 6, binary: false, encoding: 'utf-8', content: 'hello\n' },
  truncated: false,
  ...more,
})

describe('svc sessions files', () => {
  test('lists a folder with what git says of each entry', async () => {
    await using service = startService()
    const { code, stdout } = await svc(files, { service, env: { ...env, NO_COLOR: '1' }, terminal: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/NAME +KIND +BYTES +GIT/)
    expect(stdout).toMatch(/src\/ +directory +changed/)
    expect(stdout).toMatch(/notes\.md +file +12 +new/)
    expect((await svc(files, { service, env })).stdout).toContain('notes.md\tfile\t12\tnew\n')
    const { stdout: json } = await svc([...files, '--json'], { service, env })
    expect(JSON.parse(json)).toMatchObject({ type: 'directory', source: 'sandbox', git: 'changed' })
  })

  test('says why git has no state of an entry', async () => {
    const entries = [{ name: 'lib.ts', path: 'vendor/lib.ts', type: 'file', size: 3, git: null }]
    const folder = { type: 'directory', path: 'vendor', ...place, git: null, entries, truncated: false }
    await using service = startService({ getSessionFiles: () => folder })
    const { stdout, stderr } = await svc([...files, 'vendor'], { service, env })
    expect([stdout, stderr]).toEqual(['lib.ts\tfile\t3\t-\n', expect.any(String)])
    expect(stderr).toContain('it took too long, or the files belong to a submodule')
  })

  test('takes a path as a shell completes it', async () => {
    await using service = startService()
    for (const [given, asked] of [
      ['src/', 'src'],
      ['./src', 'src'],
      ['.', null],
    ] as const) {
      service.received.length = 0
      expect((await svc([...files, given], { service, env })).code).toBe(0)
      expect(service.received.at(-1)!.query).toEqual(asked === null ? {} : { path: asked })
    }
  })

  test('prints a text unchanged in a pipe, and without control characters on a terminal', async () => {
    await using service = startService({ getSessionFiles: () => file({ content: 'a\x1b[31mred\n' }) })
    expect((await svc([...files, 'a.txt'], { service, env })).stdout).toBe('a\x1b[31mred\n')
    const shown = await svc([...files, 'a.txt'], { service, env: { ...env, SVC_PAGER: '' }, terminal: true })
    expect(shown.stdout).toContain('a\u241b[31mred')
  })

  test('says where saved files come from, and that a text is cut', async () => {
    const notes = ['The session is stopped. These are the files of its branch.']
    await using service = startService({ getSessionFiles: () => file({ source: 'saved', notes, truncated: true }) })
    const { stderr } = await svc([...files, 'a.txt'], { service, env })
    expect(stderr).toContain(notes[0]!)
    expect(stderr).toContain('larger than 1 MiB')
  })

  test('suggests to list the files when one is missing, and the sessions when the session is', async () => {
    const missing = (detail: object) =>
      startService({
        getSessionFiles: () => {
          throw new ServiceError('not_found', 'There is none.', { detail: { ...detail } })
        },
      })
    await using file = missing({ reason: 'absent' })
    const { code, stderr } = await svc([...files, 'README.md'], { service: file, env })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\$ svc sessions files 44444444( |$)/m)])
    expect(stderr).not.toContain('sessions ls')
    await using session = missing({})
    expect((await svc([...files, 'README.md'], { service: session, env })).stderr).toContain('$ svc sessions ls')
  })

  test('refuses to print bytes, a pipe, or a device, and shows where a link leads', async () => {
    await using binary = startService({
      getSessionFiles: () => file({ binary: true, encoding: 'base64', content: 'AAEC' }),
    })
    const refused = await svc([...files, 'a.png'], { service: binary, env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('Use --json to get it as base64.')
    await using pipe = startService({ getSessionFiles: () => ({ type: 'special', path: 'pipe', ...place }) })
    expect((await svc([...files, 'pipe'], { service: pipe, env })).stderr).toContain('neither a file nor a folder')
    await using link = startService({
      getSessionFiles: () => ({ type: 'symlink', path: 'l', ...place, target: '/etc/\x1b[2Jpasswd' }),
    })
    const shown = await svc([...files, 'l'], { service: link, env, terminal: true })
    expect(shown.stdout).toMatch(/-> .*\/etc\//)
    expect(shown.stdout).not.toContain('\x1b[2J')
  })
})
