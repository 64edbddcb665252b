import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ErrorBody, Project } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const of =
  ({ project }: { project: Project }) =>
  async <Body>(path: string) =>
    app.request<Body>('GET', `/v1/projects/${project.project_id}/${path}`)
const q = encodeURIComponent

interface Blame {
  sha: string
  ranges: { start: number; end: number; sha: string; path: string }[]
  commits: { sha: string; author_name: string; authored_at: string; subject: string }[]
}

describe('blaming a file', () => {
  test('names the commit that last changed each line, across renames', async () => {
    const made = await app.managedProject({ 'old.txt': 'one\ntwo\nthree\nfour\n' })
    const get = of(made)
    const first = await gitText(made.repo, 'rev-parse', 'main')
    const renamed = await commit(made.repo, 'main', {
      'old.txt': null,
      'ä "b" *.txt': 'one\ntwo\nthree\nfour\n',
    })
    const second = await commit(
      made.repo,
      'main',
      { 'ä "b" *.txt': 'one\nTWO\nthree\nfour\n' },
      { message: 'Shout é\n\nLouder.' },
    )
    const { status, body } = await get<Blame>(`blame?path=${q('ä "b" *.txt')}`)
    expect(status).toBe(200)
    expect(body.sha).toBe(second)
    expect(body.ranges).toEqual([
      { start: 1, end: 1, sha: first, path: 'old.txt' },
      { start: 2, end: 2, sha: second, path: 'ä "b" *.txt' },
      { start: 3, end: 4, sha: first, path: 'old.txt' },
    ])
    expect(body.commits.find(({ sha }) => sha === second)).toMatchObject({ subject: 'Shout é' })
    expect(body.commits).toHaveLength(2)
    const before = (await get<Blame>(`blame?path=${q('ä "b" *.txt')}&ref=${renamed}`)).body
    expect(before.ranges).toEqual([{ start: 1, end: 4, sha: first, path: 'old.txt' }])
  })

  test('refuses what has no lines, and says why', async () => {
    const get = of(
      await app.managedProject({
        'a.png': new Uint8Array([1, 0, 2]),
        'big.txt': 'x\n'.repeat(600_000),
        'empty.txt': '',
        'dir/a.txt': 'a\n',
        '"caf\\351.txt"': 'latin\n',
      }),
    )
    for (const path of ['a.png', 'big.txt', '"caf\\351.txt"'])
      expect([path, (await get<ErrorBody>(`blame?path=${q(path)}`)).body.code]).toEqual([path, 'unprocessable'])
    for (const path of ['dir', 'nope', '', '..', '-x', '--contents=/etc/passwd'])
      expect([path, (await get<ErrorBody>(`blame?path=${q(path)}`)).body.code]).toEqual([path, 'not_found'])
    expect((await get<Blame>('blame?path=empty.txt')).body.ranges).toEqual([])
    expect((await get<ErrorBody>('blame?path=dir/a.txt&ref=nope')).body.code).toBe('ref_not_found')
  })
})

interface Paths {
  files: { path: string }[]
  truncated: boolean
}

test('lists the paths of all files of a ref', async () => {
  const made = await app.managedProject({ 'b/c.txt': 'c\n', 'a.txt': 'a\n', '"caf\\351.txt"': 'latin\n' })
  const get = of(made)
  const { body } = await get<Paths>('paths')
  expect(body.files.map(({ path }) => path)).toEqual(expect.arrayContaining(['"caf\\351.txt"', 'a.txt', 'b/c.txt']))
  expect(body.truncated).toBe(false)
  expect((await get<Paths>('paths?limit=1')).body.files).toHaveLength(1)
  expect((await get<ErrorBody>('paths?ref=nope')).body.code).toBe('ref_not_found')
})

test('finds paths by words, those with all of them in the name of the file first', async () => {
  const get = of(await app.managedProject({ 'api/totals/a.txt': 'a\n', 'src/API-totals.ts': 'x\n', 'b.txt': 'b\n' }))
  const paths = async (query: string) => (await get<Paths>(`paths?${query}`)).body.files.map(({ path }) => path)
  expect(await paths('search=totals%20api')).toEqual(['src/API-totals.ts', 'api/totals/a.txt'])
  expect(await paths('search=totals&limit=1')).toEqual(['src/API-totals.ts'])
  expect(await paths('search=nothing')).toEqual([])
  expect((await get<ErrorBody>('paths?search=%20')).status).toBe(400)
})

interface Matches {
  matches: { path: string; line: number; text: string }[]
  truncated: boolean
}

describe('searching the files of a ref', () => {
  test('finds lines in any case as plain text, and no binary file', async () => {
    const made = await app.managedProject({
      'a:b.txt': 'x\nHello (world)\n',
      'long.js': `${'a'.repeat(5000)}hello (world)${'b'.repeat(5000)}\n`,
      'bin.dat': new Uint8Array([...Buffer.from('hello (world)'), 0]),
    })
    const get = of(made)
    const { body } = await get<Matches>(`search?text=${q('hello (World')}`)
    expect(body.matches[0]).toEqual({ path: 'a:b.txt', line: 2, text: 'Hello (world)' })
    expect(body.matches[1]).toMatchObject({ path: 'long.js', line: 1 })
    expect(body.matches[1]!.text).toContain('hello (world)')
    expect(body.matches[1]!.text.length).toBeLessThan(400)
    expect(body).toMatchObject({ truncated: false })
    expect(body.matches).toHaveLength(2)
    expect((await get<Matches>(`search?text=${q('--cached')}`)).body.matches).toEqual([])
    expect((await get<Matches>('search?text=x.*')).body.matches).toEqual([])
    for (const text of ['', 'a%0Ab', 'a%00b', 'x'.repeat(201)])
      expect([text, (await get<ErrorBody>(`search?text=${text}`)).status]).toEqual([text, 400])
  })

  test('stops at 200 lines and says so', async () => {
    const get = of(await app.managedProject({ 'many.txt': 'same\n'.repeat(1000) }))
    const { body } = await get<Matches>('search?text=same')
    expect([body.matches.length, body.truncated]).toEqual([200, true])
  })
})

test('comparing with include=patch has the text of the changes', async () => {
  const made = await app.managedProject({ 'a.txt': 'one\n' })
  const get = of(made)
  const base = await gitText(made.repo, 'rev-parse', 'main')
  const head = await commit(made.repo, 'main', { 'a.txt': 'two\n' })
  const { body } = await get<{ patch?: string }>(`compare?base=${base}&head=${head}&include=patch`)
  expect(body.patch).toContain('-one\n+two\n')
  expect((await get<{ patch?: string }>(`compare?base=${base}&head=${head}`)).body.patch).toBeUndefined()
})
