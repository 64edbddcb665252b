/** A real git client pushes secrets through the real listener. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commit, makeRepo } from '@svc/git/testing'
import { clientAt } from '@svc/git/testing-client'
import { buildApp } from '../app.ts'
import { Listener } from '../listen.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { findAddedSecrets } from './find-added.ts'
import { formsOf } from './forms.ts'
import { insertGiven } from './given-store.ts'
import { sealedSecrets } from './store.ts'

setDefaultTimeout(120_000)
let app: TestApp
let clone: string
let base: string
const door = new Listener({ fromSandbox: false })
const canary = 'canary/9+value with "quotes" & ünïcode'
const pem = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2)}\n${'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj'.repeat(2)}\n-----END PRIVATE KEY-----\n`

async function git(...args: string[]): Promise<{ ok: boolean; said: string }> {
  const { code, out, err } = await clientAt(clone).run(...args)
  return { ok: code === 0, said: `${out}\n${err}` }
}

beforeAll(async () => {
  app = await makeTestApp()
  const port = await door.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  door.answerWith((request, env) => served.fetch(request, env))
  const { project } = await app.managedProject({ 'README.md': 'hello\n' })
  base = `/v1/projects/${project.project_id}`
  for (const [name, value] of Object.entries({ CANARY: canary, PEM: pem, SHORT: 'short-value-15c' }))
    expect((await app.request('POST', `${base}/secrets`, { body: { name, value } })).status).toBe(200)
  clone = await mkdtemp(join(tmpdir(), 'svc-push-secret-'))
  const url = `http://x-access-token:${app.ownerToken}@127.0.0.1:${port}${base}/git`
  expect((await git('clone', '-q', url, '.')).said).not.toContain('fatal')
})
afterAll(async () => {
  await door.close()
  await app.close()
  await rm(clone, { recursive: true, force: true })
})

let count = 0
async function push(files: Record<string, string>, after?: () => Promise<unknown>) {
  const branch = `work-${count++}`
  await git('checkout', '-qf', '-B', branch, 'origin/main')
  for (const [path, text] of Object.entries(files)) await writeFile(join(clone, path), text)
  await git('add', '-A')
  await git('commit', '-qm', 'work')
  await after?.()
  return git('push', '-q', 'origin', `HEAD:refs/heads/${branch}`)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('the values that a push is searched for', () => {
  test("searches only for the values that the session's sandboxes got", async () => {
    const session = crypto.randomUUID()
    const given = 'given-to-the-sandbox-0815'
    const project = app.deps.db.selectFrom('projects').selectAll().executeTakeFirstOrThrow()
    await app.request('POST', `${base}/secrets`, { body: { name: 'GIVEN', value: given } })
    const all = await sealedSecrets(app.deps.db, (await project).project_id)
    const of = { projectId: (await project).project_id, sessionId: session }
    await insertGiven(
      app.deps.db,
      of,
      all.filter(({ name }) => name === 'GIVEN'),
    )
    const findings = async (text: string, sessionId: string | null) => {
      const repo = await makeRepo({ main: { 'a.txt': `key = ${text}\n` } })
      try {
        const repository = { dir: repo.dir, remote: null }
        const newSha = await commit(repo, 'x', { 'b.txt': `again ${text}\n` })
        const updates = [{ ref: 'refs/heads/x', oldSha: '0'.repeat(40), newSha }]
        const known = () => Promise.resolve([])
        const input = { project: await project, sessionId, repository, updates, known, max: 5 }
        const found = await findAddedSecrets(app.deps, input)
        return found.kind === 'found' ? [...new Set(found.findings.map(({ name }) => name))] : []
      } finally {
        await repo.remove()
      }
    }
    expect(await findings(canary, session)).toEqual([])
    expect(await findings(canary, null)).toEqual(['CANARY'])
    expect(await findings(given, session)).toEqual(['GIVEN'])
    await app.request('DELETE', `${base}/secrets/GIVEN`)
    expect(await findings(given, session)).toEqual(['GIVEN'])
    expect(await findings(given, null)).toEqual([])
  })
})

describe('pushes that contain a secret', () => {
  test.each<[string, string]>([
    ['as it is', canary],
    ['in base64', base64(canary)],
    ['in base64 behind one byte', base64(`x${canary}`)],
    ['in base64 among others', base64(`user:${canary}:more`)],
    ['in base64 for URLs', Buffer.from(`ab${canary}`).toString('base64url')],
    ['in hex', Buffer.from(canary).toString('hex')],
    ['in upper-case hex', Buffer.from(canary).toString('hex').toUpperCase()],
    ['in a URL', encodeURIComponent(canary)],
    ['in a form', encodeURIComponent(canary).replaceAll('%20', '+')],
    ['in JSON', JSON.stringify({ canary })],
  ])('refuses a push with the value %s and its position, without repeating the value', async (_, text) => {
    const { ok, said } = await push({ 'a.txt': `one\ntwo\nkey = ${text}\n` })
    expect(ok).toBeFalse()
    expect(said).toContain('a.txt:3 adds the value of the secret CANARY')
    for (const { bytes } of formsOf('CANARY', canary)) expect(said).not.toContain(bytes.toString())
  })

  test('refuses a key of several lines, also indented', async () => {
    expect((await push({ 'id.pem': pem })).said).toContain('id.pem:1 adds the value of the secret PEM')
    expect((await push({ 'id.yaml': pem.replace(/^/gm, '    ') })).said).toContain(
      'id.yaml:2 adds the value of the secret PEM',
    )
  })

  test('refuses a push that removes the value in a later commit', async () => {
    const { ok, said } = await push({ 'b.txt': `${canary}\n` }, async () => {
      await writeFile(join(clone, 'b.txt'), 'clean\n')
      await git('commit', '-qam', 'clean')
    })
    expect([ok, said.includes('b.txt:1 adds')]).toEqual([false, true])
  })

  test('refuses a value that was added in a merge commit', async () => {
    const { ok, said } = await push({ 'c.txt': 'c\n' }, async () => {
      await git('checkout', '-qb', `side-${count}`, 'origin/main')
      await writeFile(join(clone, 'd.txt'), 'd\n')
      await git('add', '-A')
      await git('commit', '-qm', 'side')
      await git('merge', '-q', '--no-commit', `work-${count - 1}`)
      await writeFile(join(clone, 'd.txt'), `d\n${canary}\n`)
      await git('commit', '-qam', 'merged')
    })
    expect([ok, said.includes('d.txt:2 adds the value')]).toEqual([false, true])
  })

  test('finds a value in a binary file, in an endless line, and far into a file', async () => {
    expect((await push({ 'x.bin': `\0\u0001${'z'.repeat(300_000)}${canary}${'z'.repeat(300_000)}` })).said).toContain(
      'x.bin:1 adds',
    )
    const long = Array.from({ length: 60_000 }, (_, index) => `line ${index} of a long file`).join('\n')
    expect((await push({ 'long.txt': `${long}\n${canary}\n${long}` })).said).toContain('long.txt:60001 adds')
  })

  test('accepts a push with no value, only short values, or removals', async () => {
    expect(await push({ 'e.txt': 'short-value-15c\n+++ b/fake\n@@ -1 +1 @@\n' })).toMatchObject({ ok: true })
    expect(await push({ 'README.md': '' })).toMatchObject({ ok: true })
  })
})
