import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { judgeLocalRepository, type LocalPolicy } from './local-repository.ts'
import { makeRepo, tempDir, type TestRepository } from '../testing.ts'

setDefaultTimeout(120_000)

const isRoot = process.getuid?.() === 0
let repo: TestRepository
let place: { path: string; remove(): Promise<void> }
beforeAll(async () => {
  repo = await makeRepo({ main: { a: '1' } })
  place = await tempDir('svc-local')
})
afterAll(async () => {
  await repo.remove()
  await place.remove()
})

const judge = (path: string, policy: Partial<LocalPolicy> = {}) =>
  judgeLocalRepository(path, { roots: 'owned', closed: [], ...policy })

test("resolves a repository of the server's user to its real path", async () => {
  const link = join(place.path, 'link')
  symlinkSync(repo.dir, link)
  const url = `file://${repo.dir}`
  expect(await Promise.all([repo.dir, link, repo.dir.replace(/\.git$/, '')].map((path) => judge(path)))).toEqual(
    Array.from({ length: 3 }, () => ({ kind: 'allowed', url })),
  )
})

test('resolves a work tree with its own folder, and checks the repository behind it', async () => {
  const tree = join(place.path, 'tree')
  execFileSync('git', ['--git-dir', repo.dir, 'worktree', 'add', '--quiet', tree, 'main'])
  expect(await judge(tree)).toEqual({ kind: 'allowed', url: `file://${tree}` })
  expect((await judge(tree, { closed: [repo.dir] })).kind).toBe('refused')
  expect((await judge(tree, { roots: [place.path] })).kind).toBe('refused')
})

test('refuses a folder that is no repository', async () => {
  const empty = join(place.path, 'empty')
  mkdirSync(empty)
  for (const path of [empty, join(empty, 'none'), '/', '/etc'])
    expect([path, (await judge(path)).kind]).toEqual([path, 'refused'])
})

describe.skipIf(!isRoot)('repositories in other namespaces', () => {
  test('refuses the workspace of a sandbox by every path of its process, and runs none of its hooks', async () => {
    const script = `mount -t tmpfs none ${place.path} && mkdir ${place.path}/workspace && cd ${place.path}/workspace &&
      git init --quiet && printf '#!/bin/sh\\ntouch /tmp/hooked' > .git/hooks/post-update && echo ready && exec cat`
    const child = spawn('unshare', ['--mount', '--propagation', 'private', '/bin/sh', '-c', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    try {
      await once(child.stdout, 'data')
      const workspace = `${place.path}/workspace`
      const link = join(place.path, 'to-workspace')
      symlinkSync(`/proc/${child.pid}/root${workspace}`, link)
      symlinkSync(`/proc/${child.pid}/cwd`, `${link}-cwd`)
      for (const path of [
        `/proc/${child.pid}/root${workspace}`,
        `/proc/${child.pid}/cwd`,
        link,
        `${link}-cwd`,
        workspace,
      ])
        expect([path, (await judge(path)).kind]).toEqual([path, 'refused'])
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('refuses a forbidden folder by its bind mounts, too', () => {
    const closed = join(repo.dir, '..')
    const bound = join(place.path, 'bound')
    mkdirSync(bound)
    const script = `import { judgeLocalRepository } from ${JSON.stringify(join(import.meta.dir, 'local-repository.ts'))}
      const policy = { roots: 'owned', closed: [${JSON.stringify(closed)}] }
      console.log((await judgeLocalRepository(${JSON.stringify(bound)}, policy)).reason)`
    const mounted = [
      '--mount',
      '--propagation',
      'private',
      '/bin/sh',
      '-c',
      'mount --bind "$0" "$1" && exec "$2" -e "$3"',
    ]
    const said = execFileSync('unshare', [...mounted, repo.dir, bound, process.execPath, script], { encoding: 'utf8' })
    expect(said.trim()).toBe('This path belongs to the service itself.')
  })
})
