import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

export interface HistoricMerge {
  commit: string
  base: string
  head: string
}

export type Outcome =
  | { kind: 'clean'; tree: string }
  | { kind: 'conflicted'; files: string[] }
  | { kind: 'failed'; reason: string }
  /** The repository lacks an object that its commits name, so there is nothing to compare with. */
  | { kind: 'incomplete'; reason: string }

/** A git without user settings: only these, an identity, and any owner of the repository. */
const environment = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@svc.invalid',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@svc.invalid',
}
const settings = ['-c', 'safe.directory=*', '-c', 'gc.auto=0', '-c', 'core.hooksPath=/dev/null']

export interface Ended {
  code: number
  /** Bytes as latin1. */
  out: string
  err: string
}

export async function runGit(cwd: string, args: string[], input = ''): Promise<Ended> {
  const stdin = Buffer.from(input)
  const child = Bun.spawn(['git', ...settings, ...args], { cwd, env: environment, stdin, stderr: 'pipe' })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out: Buffer.from(out).toString('latin1'), err }
}

export async function gitOrThrow(cwd: string, args: string[], input = ''): Promise<string> {
  const { code, out, err } = await runGit(cwd, args, input)
  if (code !== 0) throw new Error(`git ${args[0]} ended with ${code}: ${err.trim()}`)
  return out.trim()
}

/** Newest first, which keeps each work tree close to the next one. */
export async function listMerges(path: string, limit: number | null): Promise<HistoricMerge[]> {
  const bounds = ['--min-parents=2', '--max-parents=2', ...(limit === null ? [] : [`--max-count=${limit}`])]
  const listed = await gitOrThrow(path, ['rev-list', '--all', '--parents', ...bounds])
  return listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [commit = '', base = '', head = ''] = line.split(' ')
      return { commit, base, head }
    })
}

/** Makes a bare repository that reads the given one's objects and keeps its own writes to itself. */
export async function borrowRepository(path: string, dir: string, merges: HistoricMerge[]): Promise<void> {
  await mkdir(dir)
  const format = await gitOrThrow(path, ['rev-parse', '--show-object-format'])
  await gitOrThrow(dir, ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`])
  await borrowObjects(path, dir)
  // Every merge walks ancestors.
  const commits = merges.flatMap(({ base, head }) => `${base}\n${head}\n`).join('')
  await gitOrThrow(dir, ['commit-graph', 'write', '--stdin-commits'], commits)
}

export async function borrowObjects(path: string, gitDir: string): Promise<void> {
  const objects = resolve(path, await gitOrThrow(path, ['rev-parse', '--git-path', 'objects']))
  const shallow = resolve(path, await gitOrThrow(path, ['rev-parse', '--git-path', 'shallow']))
  await mkdir(join(gitDir, 'objects/info'), { recursive: true })
  await writeFile(join(gitDir, 'objects/info/alternates'), `${objects}\n`)
  if (existsSync(shallow)) await copyFile(shallow, join(gitDir, 'shallow'))
}
