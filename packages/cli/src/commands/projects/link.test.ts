import { expect, test } from 'bun:test'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aProject, startService, svc, temporaryFolder } from '../../testing.ts'
import { recoverySteps } from '../cr/labels.ts'

const author = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
}

function git(cwd: string, ...args: string[]): string {
  const ran = Bun.spawnSync(['git', ...args], {
    cwd,
    env: { ...process.env, ...author, GIT_CONFIG_GLOBAL: '/dev/null' },
  })
  if (ran.exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${ran.stderr.toString()}`)
  return ran.stdout.toString()
}

async function commit(folder: string, path: string, text: string): Promise<void> {
  await writeFile(join(folder, path), text)
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--message', `Write ${path}`)
}

test('the link file enters no commit, however deep the linked folder is', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  git(folder.path, 'init', '--quiet', '--initial-branch=main')
  await mkdir(join(folder.path, 'packages/site'), { recursive: true })
  await commit(folder.path, 'a.txt', '1')
  for (const cwd of [folder.path, join(folder.path, 'packages/site'), folder.path])
    expect((await svc(['projects', 'link', 'app'], { service, cwd })).code).toBe(0)
  await commit(folder.path, 'b.txt', '1')
  expect(git(folder.path, 'ls-files')).toBe('a.txt\nb.txt\n')
  const list = await readFile(join(folder.path, '.git/info/exclude'), 'utf8')
  expect(list.split('\n').filter((line) => line.includes('link.json'))).toEqual(['**/.svc/link.json'])
})

test('the link file enters no commit in a linked work tree, whose repository has the exclude file', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const main = join(await realpath(folder.path), 'main')
  const other = join(await realpath(folder.path), 'other')
  await mkdir(main)
  git(main, 'init', '--quiet', '--initial-branch=main')
  await commit(main, 'a.txt', '1')
  git(main, 'worktree', 'add', '--quiet', '-b', 'work', other)
  await writeFile(join(main, '.git/info/exclude'), 'own')
  expect((await svc(['projects', 'link', 'app'], { service, cwd: other })).code).toBe(0)
  await commit(other, 'b.txt', '1')
  expect(git(other, 'ls-files')).toBe('a.txt\nb.txt\n')
  expect(await readFile(join(main, '.git/info/exclude'), 'utf8')).toBe('own\n**/.svc/link.json\n')
})

test('the commands that resolve a conflict add neither the link file nor any other file', async () => {
  await using folder = await temporaryFolder()
  const [upstream, clone] = [join(folder.path, 'upstream'), join(folder.path, 'clone')]
  await mkdir(upstream)
  git(upstream, 'init', '--quiet', '--initial-branch=main')
  await commit(upstream, 'a.txt', '1')
  git(upstream, 'switch', '--quiet', '--create', 'work')
  await commit(upstream, 'a.txt', 'work')
  git(upstream, 'switch', '--quiet', 'main')
  await commit(upstream, 'a.txt', 'main')
  git(folder.path, 'clone', '--quiet', upstream, clone)
  // A link from a version that did not exclude it.
  await mkdir(join(clone, '.svc'))
  await writeFile(join(clone, '.svc/link.json'), JSON.stringify({ project_id: aProject().project_id }))
  const [merge, resolve, push] = recoverySteps({ number: 3, base_ref: 'main', head_ref: 'work' })
  const shell = (line: string) =>
    Bun.spawnSync(['sh', '-c', line], { cwd: clone, env: { ...process.env, ...author, GIT_EDITOR: 'true' } }).exitCode
  expect(shell(merge!)).toBe(1)
  await writeFile(join(clone, 'a.txt'), 'both')
  expect([shell(resolve!), shell(push!)]).toEqual([0, 0])
  expect(git(upstream, 'ls-tree', '--name-only', 'work')).toBe('a.txt\n')
})

test('links a folder that is in no repository', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  expect((await svc(['projects', 'link', 'app'], { service, cwd: folder.path })).code).toBe(0)
})
