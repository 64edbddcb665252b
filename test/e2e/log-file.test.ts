/** The log file of a server that runs for months has a limit, and rotating it loses no line. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, run, until } from './harness.ts'

let home: string
let env: Record<string, string>
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-log-file-'))
  env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    SVC_SANDBOX_DRIVER: 'none',
    SVC_PORT: String(await freePort()),
    SVC_LOG_LEVEL: 'debug',
    SVC_LOG_FILE_MAX_MB: '1',
  }
})
afterAll(async () => {
  await svc('self-host', 'stop')
  await rm(home, { recursive: true, force: true })
})

const svc = (...args: string[]) => run([program, ...args], { env, cwd: home })
const folder = () => join(home, '.local/share/svc/log')
const log = () => join(folder(), 'server.log')
const fill = (name: string) => `{"msg":"${name}"}\n${`{"msg":"${'x'.repeat(1000)}"}\n`.repeat(1100)}`
const firstLine = async (age: number) => (await readFile(`${log()}.${age}`, 'utf8')).split('\n', 1)[0]

test('a start rotates a long log, a running server does, and each line of it stays in a file', async () => {
  await mkdir(folder(), { recursive: true })
  await writeFile(log(), fill('earlier'), { mode: 0o600 })
  const started = await svc('self-host', 'start')
  expect([started.code, started.stdout]).toEqual([0, expect.stringContaining('/sign-in#')])
  expect(await firstLine(1)).toBe('{"msg":"earlier"}')
  expect((await stat(log())).size).toBeLessThan(1024 * 1024)
  // The file has few lines so far.
  expect((await svc('self-host', 'logs')).stdout).toMatch(/x{1000}[^]*svc is ready\./)

  const asked: string[] = []
  for (const round of ['first', 'second', 'third', 'fourth', 'fifth']) {
    await appendFile(log(), fill(round))
    // They are older than the last lines of the server.
    if (round === 'first') expect((await svc('self-host', 'logs', 'postgres')).stdout).toContain('"from":"postgres"')
    await until('the log is rotated', async () => {
      await Promise.all(Array.from({ length: 20 }, ask))
      return (await stat(log())).size < 1024 * 1024
    })
  }
  expect((await readdir(folder())).sort()).toEqual(['server.log', ...[1, 2, 3, 4].map((age) => `server.log.${age}`)])
  expect((await stat(`${log()}.1`)).mode & 0o077).toBe(0)
  const lines = (await Promise.all([1, 2, 3, 4].map((age) => readFile(`${log()}.${age}`, 'utf8')))).join('')
  for (const round of ['second', 'third', 'fourth', 'fifth']) expect(lines).toContain(`{"msg":"${round}"}`)
  // Requests of the first round are in the file that is gone.
  const found = await svc('self-host', 'logs', '--find', '{"msg":"second"}')
  expect([found.code, found.stdout]).toEqual([0, '{"msg":"second"}\n'])
  const all = await svc('self-host', 'logs', '--lines', '1000000')
  const files = [4, 3, 2, 1].map((age) => readFile(`${log()}.${age}`, 'utf8'))
  expect(all.stdout).toStartWith((await Promise.all(files)).join(''))
  const usual = await svc('self-host', 'logs')
  expect(usual.stdout.split('\n')).toHaveLength(201)
  expect(await svc('self-host', 'logs', '--find', 'no such line')).toMatchObject({
    ...{ code: 0, stdout: '' },
    stderr: expect.stringContaining('No line of the log has "no such line"'),
  })
  const written = lines + (await readFile(log(), 'utf8'))
  const newest = asked.slice(asked.findIndex((id) => written.includes(id)))
  expect(newest.filter((id) => written.split(id).length !== 2)).toEqual([])

  async function ask(): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${env.SVC_PORT}/v1/nothing`)
    asked.push(answer.headers.get('x-request-id')!)
  }
})

test('a log that cannot be rotated goes on, and says so', async () => {
  await mkdir(`${log()}.partial`)
  await appendFile(log(), fill('sixth'))
  await until('the failure is in the log', async () => {
    await fetch(`http://127.0.0.1:${env.SVC_PORT}/v1/nothing`)
    return (await readFile(log(), 'utf8')).includes('failed to rotate the log file')
  })
  await rm(`${log()}.partial`, { recursive: true })
  await until('the log is rotated again', async () => {
    await fetch(`http://127.0.0.1:${env.SVC_PORT}/v1/nothing`)
    return (await readFile(`${log()}.1`, 'utf8')).includes(`{"msg":"sixth"}`)
  })
})
