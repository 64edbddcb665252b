import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeTestApp, type TestApp } from '../testing.ts'
import { sweepRepositories } from './sweep-repositories.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const sweep = () => sweepRepositories(app.deps, new AbortController().signal)

test('has nothing to sweep before the first project', () => sweep())

test('removes what dead servers and git processes left in a managed repository, and nothing of live ones', async () => {
  const { repo } = await app.managedProject()
  const ended = Bun.spawn(['true'])
  await ended.exited
  const left = [`svc-scratch-${ended.pid}-abc`, `svc-scratch-${process.pid}-abc`].map((name) => join(repo.dir, name))
  for (const dir of left) await mkdir(join(dir, 'objects'), { recursive: true })
  const lock = join(repo.dir, 'refs/heads/main.lock')
  await Bun.write(lock, '')
  await sweep()
  expect([...left, lock].map((path) => existsSync(path))).toEqual([false, true, false])
})
