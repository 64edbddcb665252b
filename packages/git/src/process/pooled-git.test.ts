import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile, readlink, rename } from 'node:fs/promises'
import { git } from './git.ts'
import { previewMerge } from '../merge/preview.ts'
import { mergeInPooledGit } from '../merge/pooled-merge.ts'
import { planMerge } from '../merge/merge.ts'
import { readBlobs } from '../objects/object-reader.ts'
import type { Sha } from '../repository.ts'
import { queryPooledGit, endPooledGit, type PooledGitKind } from './pooled-git.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

/** Gits that stay for the next question: they answer what a git of its own would, or nothing. */

const reader: PooledGitKind = { name: 'objects', args: ['cat-file', '--batch-command'] }
const ask = (repo: TestRepository, question: string, kind = reader) =>
  queryPooledGit(repo, kind, question, (bytes) => (bytes.at(-1) === 10 ? bytes.toString() : undefined))

let repo: TestRepository
let root: Sha
const text = Array.from({ length: 20 }, (_, line) => `line ${line}\n`).join('')

beforeAll(async () => {
  repo = await makeRepo({ main: { 'a.txt': text } })
  root = await repo.tip('main')
})
afterAll(async () => {
  await endPooledGit()
  await repo.remove()
})

let pairs = 0
async function pair(more: { base?: object; head?: object } = {}): Promise<{ baseSha: Sha; headSha: Sha }> {
  const n = pairs++
  const headSha = await commit(repo, `h${n}`, { 'a.txt': `${n}\n${text}`, ...more.head }, { from: root })
  const baseSha = await commit(repo, `b${n}`, { 'a.txt': `${text}${n}\n`, ...more.base }, { from: root })
  return { baseSha, headSha }
}

async function processesIn(dir: string): Promise<{ pid: number; argv: string }[]> {
  const found: { pid: number; argv: string }[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    // A process may end between the two reads.
    const argv = cwd === dir ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : ''
    if (argv) found.push({ pid: Number(pid), argv })
  }
  return found
}

const onLinux = describe.skipIf(process.platform !== 'linux')

onLinux('a git that stays', () => {
  test('answers many questions with one process, under limits', async () => {
    for (let n = 0; n < 5; n++) expect(await ask(repo, `info ${root}\n`)).toStartWith(`${root} commit `)
    const [child, ...more] = (await processesIn(repo.dir)).filter(({ argv }) => argv.includes('cat-file'))
    expect(more).toEqual([])
    const limits = await readFile(`/proc/${child!.pid}/limits`, 'utf8')
    if (Bun.which('prlimit')) {
      expect(limits).toMatch(/Max cpu time +8 /)
      expect(limits).toMatch(new RegExp(`Max data size +${384 * 1024 * 1024} `))
    }
  })

  test('sees changes after its start', async () => {
    await ask(repo, `info ${root}\n`)
    const later = await commit(repo, 'later', { 'b.txt': '1\n' })
    expect(await ask(repo, `info ${later}\n`)).toStartWith(`${later} commit `)
  })

  test('answers a question with another process when the first is killed', async () => {
    await ask(repo, `info ${root}\n`)
    for (const { pid, argv } of await processesIn(repo.dir)) if (argv.includes('cat-file')) process.kill(pid, 'SIGKILL')
    expect([null, `${root} commit`]).toContain((await ask(repo, `info ${root}\n`))?.slice(0, 47) ?? null)
    expect(await ask(repo, `info ${root}\n`)).toStartWith(`${root} commit `)
  })

  test('rejects an unexpected answer and does not use the process again', async () => {
    const wrong = queryPooledGit(repo, reader, `info ${root}\n`, () => {
      throw new Error('nonsense')
    })
    expect(await wrong).toBeNull()
    expect(await ask(repo, `info ${root}\n`)).toStartWith(`${root} commit `)
  })

  test('does not answer about another repository in the same place', async () => {
    const other = await makeRepo({ main: { 'other.txt': '1\n' } })
    const here = await makeRepo({ main: { 'a.txt': '2\n' } })
    const [mine, theirs] = [await here.tip('main'), await other.tip('main')]
    expect(await ask(here, `info ${mine}\n`)).toStartWith(mine)
    await rename(here.dir, `${here.dir}.old`)
    await rename(other.dir, here.dir)
    expect(await ask(here, `info ${theirs}\n`)).toStartWith(`${theirs} commit`)
    expect(await ask(here, `info ${mine}\n`)).toBe(`${mine} missing\n`)
    await Promise.all([here.remove(), other.remove()])
  })

  test('leaves no process and no folder when it ends', async () => {
    await mergeInPooledGit(repo, await pair(), null)
    expect((await readdir(repo.dir)).some((name) => name.startsWith('svc-standing-'))).toBe(true)
    await endPooledGit()
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('svc-'))).toEqual([])
    expect(await processesIn(repo.dir)).toEqual([])
  })
})

describe('merges by a pooled git process', () => {
  test('produces the same merges as separate processes, one by one and concurrently', async () => {
    const asked = await Promise.all(Array.from({ length: 8 }, () => pair()))
    for (const one of asked) {
      const plan = await planMerge(repo, { ...one, message: 'm', date: new Date(0) })
      const quick = await mergeInPooledGit(repo, one, null)
      expect(quick).toEqual({ kind: 'clean', treeSha: plan.kind === 'merge-commit' ? plan.treeSha : '' })
    }
    const again = await Promise.all(asked.map((one) => mergeInPooledGit(repo, one, null)))
    expect(again.every((result) => result?.kind === 'clean')).toBe(true)
  })

  test('reports the conflicts of the requested pair', async () => {
    const clean = await pair()
    const clash = await pair({ head: { 'c.txt': 'head\n' }, base: { 'c.txt': 'base\n' } })
    for (let n = 0; n < 3; n++) {
      expect((await mergeInPooledGit(repo, clean, null))?.kind).toBe('clean')
      expect(await mergeInPooledGit(repo, clash, null)).toEqual({ kind: 'conflicted', files: ['c.txt'] })
    }
  })

  test('writes no objects of a preview into the repository', async () => {
    const one = await pair()
    const result = await mergeInPooledGit(repo, one, null)
    const tree = result?.kind === 'clean' ? result.treeSha : ''
    expect(await ask(repo, `info ${tree}\n`)).toBe(`${tree} missing\n`)
    expect((await previewMerge(repo, one)).can_merge).toBe(true)
    await planMerge(repo, { ...one, message: 'm', date: new Date(0) })
    expect(await ask(repo, `info ${tree}\n`)).toStartWith(`${tree} tree`)
  })

  test('loses no part of a result when it is killed at any moment', async () => {
    const results: Sha[] = []
    for (let n = 0; n < 8; n++) {
      const planning = planMerge(repo, { ...(await pair()), message: 'm', date: new Date(0) })
      const after = performance.now() + n
      while (performance.now() < after) await Bun.sleep(0)
      for (const { pid, argv } of await processesIn(repo.dir))
        if (argv.includes('merge-tree')) process.kill(pid, 'SIGKILL')
      const plan = await planning
      results.push(plan.kind === 'merge-commit' ? plan.resultSha : plan.kind)
    }
    await git(repo.dir, ['fsck', '--full', ...results])
  })

  test('leaves merges to a separate process when attributes may apply, at any depth', async () => {
    const deep = { 'd/e/f.txt': text }
    const start = await commit(repo, 'deep', deep, { from: root })
    const branch = (name: string, files: object) => commit(repo, name, { ...files }, { from: start })
    const headSha = await branch('dh', { 'd/e/f.txt': `1\n${text}` })
    const baseWith = (name: string, path: string, content: string) =>
      branch(name, { 'd/e/f.txt': `${text}2\n`, [path]: content })
    const merged = async (baseSha: Sha) => (await mergeInPooledGit(repo, { baseSha, headSha }, null))?.kind ?? null
    expect(await merged(await baseWith('d0', 'd/e/.gitattributes', '*.txt merge=union\n'))).toBeNull()
    expect(await merged(await baseWith('d1', '.gitattributes', 'f.txt binary\n'))).toBeNull()
    expect(await merged(await baseWith('d2', '.gitattributes', '* text=auto\n'))).toBe('clean')
    expect(await merged(await baseWith('d3', 'x/.gitattributes', '*.txt -merge\n'))).toBe('clean')
  })

  test('reads several objects at once, including missing ones', async () => {
    expect(await readBlobs(repo, [`${root}:a.txt`, `${root}:none/x`])).toEqual([Buffer.from(text), null])
  })
})
