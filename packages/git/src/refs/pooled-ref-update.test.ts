import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitLine } from '../process/git.ts'
import { landMerge } from '../merge/merge.ts'
import { keepRef, readKeptRef } from './refs.ts'
import type { Sha } from '../repository.ts'
import { endPooledGit } from '../process/pooled-git.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

/** Branches are moved by a git that stays; what that one does not say it did is done by a git of its own. */

let repo: TestRepository
let commits: Sha[]

async function useNewRepository(): Promise<void> {
  repo = await makeRepo({ main: { a: '0\n' } })
  commits = []
  for (let n = 0; n < 12; n++) commits.push(await commit(repo, 'line', { a: `${n}\n` }))
}

beforeAll(useNewRepository)
afterAll(async () => {
  await endPooledGit()
  await repo.remove()
})

const place = (branch: string, sha: Sha) => git(repo.dir, ['update-ref', `refs/heads/${branch}`, sha])
const land = (branch: string, from: number, to = from + 1) =>
  landMerge(repo, {
    baseRef: branch,
    baseSha: commits[from]!,
    resultSha: commits[to]!,
    keep: { number: to + 1, base: commits[from]!, head: commits[to]! },
  })

/** Those that stay. One that was started for a single move does what they did not, and nobody could say of it, killed, what it did. */
async function updaters(): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)))
    if (
      (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === repo.dir &&
      (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes('update-ref') &&
      (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''))
        .replaceAll('\0', '\n')
        // Only this process gets the setting that turns syncing off.
        .match(/^GIT_CONFIG_VALUE_\d+=none$/m)
    )
      found.push(Number(pid))
  return found
}

describe.skipIf(process.platform !== 'linux')('moving a branch by a pooled git process', () => {
  test('uses one process for many moves and sees changes by others in between', async () => {
    await place('many', commits[0]!)
    expect(await land('many', 0)).toEqual({ kind: 'landed' })
    const first = await updaters()
    expect(first).toHaveLength(1)
    await git(repo.dir, ['pack-refs', '--all'])
    expect(await land('many', 1)).toEqual({ kind: 'landed' })
    await place('many', commits[5]!)
    expect(await land('many', 5)).toEqual({ kind: 'landed' })
    await git(repo.dir, ['update-ref', '-d', 'refs/heads/many'])
    await place('many/below', commits[5]!)
    await place('other', commits[5]!)
    expect(await land('other', 5)).toEqual({ kind: 'landed' })
    expect(await updaters()).toEqual(first)
    expect(await repo.tip('other')).toBe(commits[6]!)
    expect(await gitLine(repo.dir, ['rev-parse', 'refs/svc/cr/7/head'])).toBe(commits[6]!)
  })

  test('moves and keeps nothing when the branch is elsewhere', async () => {
    await place('elsewhere', commits[3]!)
    const outcome = await landMerge(repo, {
      baseRef: 'elsewhere',
      baseSha: commits[2]!,
      resultSha: commits[4]!,
      keep: { number: 99, base: commits[2]!, head: commits[4]! },
    })
    expect(outcome).toEqual({ kind: 'moved' })
    expect(await repo.tip('elsewhere')).toBe(commits[3]!)
    expect(await readKeptRef(repo, 'cr/99/head')).toBeNull()
    expect(await land('elsewhere', 3)).toEqual({ kind: 'landed' })
  })

  test('leaves a symbolic branch to a separate process, which moves its target', async () => {
    await place('named', commits[0]!)
    await git(repo.dir, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/named'])
    expect(await land('alias', 0)).toEqual({ kind: 'landed' })
    expect(await repo.tip('named')).toBe(commits[1]!)
    expect(existsSync(join(repo.dir, 'refs/heads/named.lock'))).toBe(false)
    expect(await land('named', 1)).toEqual({ kind: 'landed' })
  })

  test('lets one of several concurrent moves through', async () => {
    await place('race', commits[0]!)
    const beside: Sha[] = []
    for (let n = 0; n < 5; n++) beside.push(await commit(repo, `race-${n}`, { b: `${n}\n` }, { from: commits[0]! }))
    const outcomes = await Promise.all(
      beside.map((resultSha) => landMerge(repo, { baseRef: 'race', baseSha: commits[0]!, resultSha })),
    )
    const landed = beside.filter((_, at) => outcomes[at]!.kind === 'landed')
    expect(landed).toEqual([await repo.tip('race')])
    expect(outcomes.filter(({ kind }) => kind === 'moved')).toHaveLength(4)
  })

  test('waits for the preceding step without holding a lock', async () => {
    await place('later', commits[0]!)
    expect(await land('later', 0)).toEqual({ kind: 'landed' })
    const landing = (from: number, before: () => Promise<unknown>) =>
      landMerge(repo, { baseRef: 'later', baseSha: commits[from]!, resultSha: commits[from + 1]!, before })
    const seen: Sha[] = []
    const look = async () => void seen.push(await repo.tip('later'))
    expect(await landing(1, look)).toEqual({ kind: 'landed' })
    const gate = Promise.withResolvers<void>()
    const slow = landing(2, () => gate.promise.then(look))
    // Refused for as long as the branch is locked: what is not done soon gives it back.
    for (const deadline = Date.now() + 30_000; ;)
      try {
        await place('later', commits[2]!)
        if (!existsSync(join(repo.dir, 'refs/heads/later.lock'))) break
      } catch (error) {
        if (Date.now() > deadline) throw error
      }
    gate.resolve()
    expect(await slow).toEqual({ kind: 'landed' })
    expect(seen).toEqual([commits[1]!, commits[2]!])
    const failing = landing(3, () => Promise.reject(new Error('told to fail')))
    expect(await failing.catch((error: Error) => error.message)).toBe('told to fail')
    expect(await repo.tip('later')).toBe(commits[3]!)
    expect(await land('later', 3)).toEqual({ kind: 'landed' })
  })

  test('does not move the branch when another process moved it during the preceding step', async () => {
    await place('overtaken', commits[0]!)
    const apart = await commit(repo, 'apart', { b: 'apart\n' }, { from: commits[0]! })
    const before = async () => {
      // A caller that waits here for longer than the lock lasts finds the branch free.
      for (const deadline = Date.now() + 30_000; ;)
        try {
          return await place('overtaken', apart)
        } catch (error) {
          if (Date.now() > deadline) throw error
        }
    }
    const landing = landMerge(repo, { baseRef: 'overtaken', baseSha: commits[0]!, resultSha: commits[1]!, before })
    expect(await landing).toEqual({ kind: 'moved' })
    expect(await repo.tip('overtaken')).toBe(apart)
  })

  test('works after its process was killed at any moment', async () => {
    await place('killed', commits[0]!)
    for (let n = 0; n < 10; n++) {
      const landing = land('killed', n)
      if (n % 2 === 0) for (const pid of await updaters()) killIfThere(pid)
      expect(await landing).toEqual({ kind: 'landed' })
      expect(await repo.tip('killed')).toBe(commits[n + 1]!)
      if (n % 2 === 1) for (const pid of await updaters()) killIfThere(pid)
    }
  }, 120_000)

  test('does not trust a lock that a crash left behind', async () => {
    let old: number | undefined
    // A repository that once answered slowly, as on a busy machine, gets no such process for ten minutes.
    for (const deadline = Date.now() + 60_000; old === undefined && Date.now() < deadline; [old] = await updaters()) {
      await repo.remove()
      await useNewRepository()
      for (const sha of commits.slice(0, 2)) await keepRef(repo, 'here', sha)
    }
    expect(old).toBeNumber()
    await place('locked', commits[0]!)
    const lock = join(repo.dir, 'refs/heads/locked.lock')
    await Bun.write(lock, '')
    expect(await land('locked', 0)).toEqual({ kind: 'landed' })
    expect(existsSync(lock)).toBe(false)
    expect(await updaters()).not.toContain(old!)
    // One that dies just before it commits leaves the locks of all its refs.
    const locks = ['refs/heads/locked', 'refs/svc/cr/3/base', 'refs/svc/cr/3/head']
    const left = locks.map((ref) => join(repo.dir, `${ref}.lock`))
    for (const path of left) await Bun.write(path, '')
    expect(await land('locked', 1)).toEqual({ kind: 'landed' })
    expect(left.filter((path) => existsSync(path))).toEqual([])
  }, 120_000)
})

/** The update may have ended since its process was found. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
