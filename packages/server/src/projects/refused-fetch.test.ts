/** A host that serves refused data is fetched from once, not once per reader. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { pino } from 'pino'
import { makeTestApp, type TestApp } from '../testing.ts'

setDefaultTimeout(120_000)

let app: TestApp
let origin: TestRepository
let host: HttpBackend
let at: string
let logged: { msg: string; project_id?: string; reason?: string }[] = []
/** Only git's own client fails; polls of the tips are answered. */
let isAway = false

beforeAll(async () => {
  app = await makeTestApp({
    log: pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[0]) }),
  })
  origin = await makeRepo({ main: { a: '1\n' } })
  host = await serveHttpBackend(origin.dir, {
    before: ({ headers }) => (isAway && headers['user-agent']?.startsWith('git/') ? 503 : undefined),
  })
}, 120_000)
afterAll(async () => {
  await host.close()
  await origin.remove()
  await app.close()
})
beforeEach(async () => {
  for (const branch of ['work', 'other']) await inOrigin(['update-ref', '-d', `refs/heads/${branch}`])
  const { body } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
  at = `/v1/projects/${body.project_id}`
  logged = []
})

async function inOrigin(args: string[], input = Buffer.alloc(0)): Promise<string> {
  const who = ['AUTHOR', 'COMMITTER'].flatMap((one) => [`GIT_${one}_NAME=x`, `GIT_${one}_EMAIL=x@x`])
  const child = Bun.spawn(['env', ...who, 'git', '--git-dir', origin.dir, ...args], { stdin: input, stderr: 'ignore' })
  return (await new Response(child.stdout).text()).trim()
}

/** A branch with a file named `.git`, which git's own checks refuse. */
async function branchOfRefused(branch: string): Promise<void> {
  const blob = Buffer.from(await inOrigin(['rev-parse', 'main:a']), 'hex')
  const entries = ['.git', branch].flatMap((name) => [Buffer.from(`100644 ${name}\0`), blob])
  const tree = await inOrigin(['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], Buffer.concat(entries))
  const made = await inOrigin(['commit-tree', tree, '-p', 'main', '-m', branch])
  await inOrigin(['update-ref', `refs/heads/${branch}`, made])
}

const look = (branch: string) => app.request<{ error: string }>('GET', `${at}/tree?ref=${branch}`)
/** How often git's own client started to fetch during `work`. */
async function fetchesOf(work: () => Promise<unknown>): Promise<number> {
  const count = () => host.requests.filter((line) => line === 'GET /repo.git/info/refs?service=git-upload-pack').length
  const before = count()
  await work()
  return count() - before
}
const told = () => logged.filter(({ msg }) => msg === 'refused data from a git host')

test('repeats a refusal to every reader and logs it once', async () => {
  await branchOfRefused('work')
  let answers: Awaited<ReturnType<typeof look>>[] = []
  const fetches = await fetchesOf(async () => {
    answers = await Promise.all(Array.from({ length: 5 }, () => look('work')))
    answers.push(await look('work'))
  })
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]))
  for (const { body } of answers) expect(body.error).toContain('was refused. error: object')
  expect(fetches).toBe(1)
  expect(told()).toEqual([
    expect.objectContaining({ project_id: at.split('/')[3], reason: expect.stringContaining('hasDotgit') }),
  ])
})

test('fetches at once after the host has other commits', async () => {
  await branchOfRefused('work')
  expect((await look('work')).status).toBe(502)
  await branchOfRefused('other')
  expect(await fetchesOf(() => look('other'))).toBe(1)
  expect(await fetchesOf(() => Promise.all([look('work'), look('other')]))).toBe(0)
  await inOrigin(['update-ref', '-d', 'refs/heads/other'])
  await inOrigin(['update-ref', 'refs/heads/work', 'refs/heads/main'])
  await commit(origin, 'work', { b: '2\n' })
  expect((await look('work')).status).toBe(200)
})

test('contacts an unreachable host every time, and works as soon as it is back', async () => {
  await commit(origin, 'work', { c: '3\n' })
  isAway = true
  for (let n = 0; n < 2; n++)
    expect(await fetchesOf(async () => expect((await look('work')).status).toBe(502))).toBeGreaterThan(0)
  isAway = false
  expect((await look('work')).status).toBe(200)
  expect(told()).toEqual([])
})
