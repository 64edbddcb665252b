import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { git } from './git.ts'
import { findNearAncestor } from './near-ancestors.ts'
import { mergeBases } from './refs.ts'
import type { Sha } from './repository.ts'
import { commit, makeRepo, type TestRepository } from './testing.ts'

/** Histories of any shape with clocks of any kind: who walks them in another way than git must still agree with it. */

let repo: TestRepository

beforeAll(async () => {
  repo = await makeRepo({ main: { 'a.txt': '1\n' } })
})
afterAll(() => repo.remove())

interface Drawn {
  /** How far back each parent is; none makes a root. */
  parents: number[]
  date: number
}

const histories = fc.array(
  fc.record({
    parents: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 0, maxLength: 2 }),
    date: fc.integer({ min: 1_000, max: 1_012 }),
  }),
  { minLength: 4, maxLength: 18 },
)

let drawn = 0

/** Makes them all at once: marks name the commits, and come back as ids. */
async function make(history: Drawn[]): Promise<Sha[]> {
  const name = `h${drawn++}`
  const lines = history.map(({ parents, date }, at) => {
    const marks = [...new Set(parents.map((back) => at - back))].filter((parent) => parent >= 0)
    const from = marks.map((parent, index) => `${index === 0 ? 'from' : 'merge'} :${parent + 1}\n`).join('')
    return `commit refs/drawn/${name}/${at}\nmark :${at + 1}\ncommitter T <t@svc.invalid> ${date} +0000\ndata ${name.length}\n${name}\n${from}\n`
  })
  await git(repo.dir, ['fast-import', '--quiet', '--date-format=raw'], { input: lines.join('') })
  const { stdout } = await git(repo.dir, ['for-each-ref', '--format=%(refname) %(objectname)', `refs/drawn/${name}`])
  const shas = new Map(
    stdout
      .toString()
      .split('\n')
      .map((line) => line.split(' ') as [string, Sha]),
  )
  return history.map((_, at) => shas.get(`refs/drawn/${name}/${at}`)!)
}

async function byGit(one: Sha, other: Sha): Promise<Sha[]> {
  const { stdout } = await git(repo.dir, ['merge-base', '--all', one, other], { accept: [0, 1] })
  return stdout.toString().split('\n').filter(Boolean)
}

describe('the best common ancestor', () => {
  test('is the one that git finds, in histories of any shape and date', async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const shas = await make(history)
        const [one, other] = [shas.at(-1)!, shas.at(-2)!]
        const near = await findNearAncestor(repo, one, other)
        const expected = await byGit(one, other)
        if (near !== null) {
          found++
          expect(near).toEqual(expected)
        } else expect(expected.length).toBeGreaterThanOrEqual(1)
        expect(await mergeBases(repo, one, other)).toEqual(expected)
      }),
      { numRuns: 60 },
    )
    expect(found).toBeGreaterThan(30)
  }, 120_000)

  test('of histories that parted long ago is left to git', async () => {
    const start = await repo.tip('main')
    const [near, far] = [await commit(repo, 'near', { b: '1' }), await commit(repo, 'far', { c: '1' })]
    let tip = far
    for (let n = 0; n < 40; n++) tip = await commit(repo, 'far', { c: String(n) })
    expect(await findNearAncestor(repo, near, tip)).toBeNull()
    expect(await mergeBases(repo, near, tip)).toEqual([start])
  }, 60_000)

  test('of a commit that is not here is an error of git', async () => {
    const here = await repo.tip('main')
    expect(await findNearAncestor(repo, here, 'ab'.repeat(20))).toBeNull()
    expect(mergeBases(repo, here, 'ab'.repeat(20))).rejects.toThrow('git merge-base failed')
  })
})
